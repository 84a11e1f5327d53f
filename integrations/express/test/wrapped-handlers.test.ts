/** A handler that a guard wraps runs by the guard alone, and a permit is seen only where it was given. */
import { type GuardedRequest, guard, permitErrors, RouteDeniedError, requirePermit } from '@countersign/express'
import express, { type Express, type Request, type RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, asked, ISSUER, key, permit } from './permits.js'
import { gate, newApp, useRig } from './rig.js'

const rig = useRig()

const resource = (req: Request): string => `order:${req.params.id}`

type Handler = Parameters<ReturnType<typeof rig>['guard']>[1]

/** Every guard that lets a route run, with the member that tells of it. */
const GUARDS = [
  {
    name: 'guard',
    member: 'permit',
    make: (...handler: [Handler?]) => rig().guard({ resource }, ...handler),
    headers: () => ({}),
  },
  {
    name: 'requirePermit',
    member: 'verifiedPermit',
    make: (...handler: [Handler?]) =>
      requirePermit(
        {
          issuer: ISSUER,
          audience: AUDIENCE,
          jwks: { keys: [key.publicJwk] },
          action: asked.action,
          resource,
          // As slow as a memory elsewhere.
          singleUse: { add: () => new Promise((resolve) => setImmediate(() => resolve(true))) },
        },
        ...(handler as [RequestHandler?]),
      ),
    headers: () => ({ authorization: `Bearer ${permit()}` }),
  },
] as const

const twice: RequestHandler = (_req, _res, next) => {
  next()
  next()
}

function quiet(app: Express): Express {
  return app.use(permitErrors(), ((_error, _req, res, _next) => {
    if (!res.headersSent) res.status(500).end()
  }) as express.ErrorRequestHandler)
}

describe.each(GUARDS)('a handler that $name wraps', ({ make, member, headers }) => {
  it('runs once it is let through, and sees what let it through', async () => {
    const app = newApp().post(
      '/orders/:id',
      make((req, res) => {
        res.json({ id: req.params.id, seen: req[member] !== undefined, same: req[member] === res.locals[member] })
      }),
    )
    const { body } = await request(app).post('/orders/8812').set(headers()).expect(200)
    expect(body).toEqual({ id: '8812', seen: true, same: true })
  })

  it('does not run for a middleware that calls next twice', async () => {
    let runs = 0
    const app = quiet(
      newApp().post(
        '/orders/:id',
        twice,
        make((_req, res) => {
          runs += 1
          res.end()
        }),
      ),
    )
    await request(app).post('/orders/8812').set(headers()).expect(404)
    expect(runs).toBe(0)
  })

  it('does not run with the parameters of another route that such a middleware went on to', async () => {
    const ran: unknown[] = []
    const done = gate()
    const mayEnd = gate()
    const app = quiet(
      newApp()
        .use(twice)
        .post(
          '/orders/:id',
          make((req, res) => {
            ran.push(req.params)
            res.end()
          }),
        )
        .post('/:kind/:id', async (_req, res) => {
          done.open()
          await mayEnd.opened
          if (!res.headersSent) res.end()
        }),
    )
    const answer = request(app).post('/orders/8812').set(headers())
    const answered = answer.then(({ status }) => status)
    await done.opened
    expect(await answered).toBe(403)
    mayEnd.open()
    expect(ran).toEqual([])
  })

  it('runs at most once in a request, however often it is come to', async () => {
    let runs = 0
    const wrapped = make((_req, _res, next) => {
      runs += 1
      next('route')
    })
    const app = quiet(newApp().post('/orders/:id', wrapped).post('/orders/:id', wrapped))
    await request(app).post('/orders/8812').set(headers()).expect(403)
    expect(runs).toBe(1)
  })

  it('hands on what it throws as Express does, whatever that is', async () => {
    const thrown: unknown[] = [new Error('no'), 'text', undefined, 0]
    const seen: unknown[] = []
    for (const [at, one] of thrown.entries()) {
      const app = newApp()
        .post(
          '/orders/:id',
          make(
            at % 2 === 0
              ? () => Promise.reject(one)
              : () => {
                  throw one
                },
          ),
        )
        .use(((error, _req, res, _next) => {
          seen.push(error)
          res.status(500).end()
        }) as express.ErrorRequestHandler)
      await request(app).post('/orders/8812').set(headers()).expect(500)
    }
    expect(seen).toEqual([thrown[0], 'text', new Error('Rejected promise'), new Error('Rejected promise')])
  })

  it('is one function of a request, a response and what is next', () => {
    for (const faulty of [
      undefined,
      null,
      {},
      'handler',
      [() => undefined],
      (_a: never, _b: never, _c: never, _d: never) => {},
    ]) {
      expect(() => make(faulty as never)).toThrow('handler')
    }
  })

  it.each<[string, (req: Request) => void]>([
    ['another url', (req) => void Object.assign(req, { url: '/orders/9999' })],
    ['another method', (req) => void Object.assign(req, { method: 'DELETE' })],
    ['another base', (req) => void Object.assign(req, { baseUrl: '/elsewhere' })],
  ])('is seen by nobody as let through once the request says %s', async (_what, change) => {
    const seen: unknown[] = []
    const look: RequestHandler = (req, res, next) => {
      seen.push(req[member] === undefined && res.locals[member] === undefined)
      next()
    }
    const app = newApp().post(
      '/orders/:id',
      make(),
      look,
      (req, _res, next) => {
        change(req)
        next()
      },
      look,
      (_req, res) => void res.end(),
    )
    await request(app).post('/orders/8812').set(headers()).expect(200)
    expect(seen).toEqual([false, true])
  })

  it('is seen by no other route as let through', async () => {
    const seen: unknown[] = []
    const app = newApp()
      .post('/orders/:id', make(), (_req, _res, next) => next('route'))
      .post('/orders/:id', (req, res) => {
        seen.push(req[member], res.locals[member], member in req && Object.keys(req[member] ?? {}))
        res.end()
      })
    await request(app).post('/orders/8812').set(headers()).expect(200)
    expect(seen).toEqual([undefined, undefined, []])
  })

  it('is seen in no second pass of its own route through the app as let through before', async () => {
    const seen: unknown[] = []
    let passes = 0
    const inner = express.Router()
    const skipGuard =
      (guarded: RequestHandler): RequestHandler =>
      (req, res, next) =>
        passes++ === 0 ? guarded(req, res, next) : next()
    inner.post('/orders/:id', skipGuard(make() as RequestHandler), (req, res, next) => {
      seen.push(req[member] !== undefined)
      if (passes > 1) return void res.end()
      req.url = '/orders/9999'
      inner(req, res, next)
    })
    await request(newApp().use(inner)).post('/orders/8812').set(headers()).expect(200)
    expect(seen).toEqual([true, false])
  })

  it('is seen in the routers below as let through, where the guard stands before them', async () => {
    const below = express
      .Router()
      .post(
        '/:id',
        (req, res) => void res.json({ seen: req[member] !== undefined, twin: res.locals[member] !== undefined }),
      )
    const within = express.Router().use('/orders', below)
    const app = newApp().use('/shops/:id', make() as RequestHandler, within)
    for (const path of ['/shops/8812/orders/1', '/shops/8812/orders/1?a=1', '/shops/8812/orders/1/']) {
      const { body } = await request(app).post(path).set(headers()).expect(200)
      expect(body).toEqual({ seen: true, twin: true })
    }
  })
})

describe('a handler that guard wraps is settled by', () => {
  const timedOut = Object.assign(new Error('read timed out'), { code: 'ETIMEDOUT' })
  const answering =
    (status: number): express.ErrorRequestHandler =>
    (_error, _req, res, _next) =>
      void res.status(status).end()

  it.each<[string, () => unknown, number, string]>([
    [
      'an error',
      () => {
        throw new Error('no')
      },
      500,
      'reject',
    ],
    ['a rejection', () => Promise.reject(new Error('no')), 500, 'reject'],
    ['a lost answer', () => Promise.reject(timedOut), 500, 'leave'],
    [
      'a lost answer that it throws at once',
      () => {
        throw timedOut
      },
      500,
      'leave',
    ],
    ['a lost answer that an error handler calls well', () => Promise.reject(timedOut), 200, 'leave'],
  ])('what it throws, without permitErrors: %s', async (_what, handler, status, settled) => {
    const app = newApp()
      .post('/orders/:id', rig().guard({ resource }, handler as Handler))
      .use(answering(status))
    await request(app).post('/orders/8812').expect(status)
    expect(await rig().settled()).toEqual([settled])
  })

  it('what it gives to next, without permitErrors', async () => {
    const app = newApp()
      .post(
        '/orders/:id',
        rig().guard({ resource }, (_req, _res, next) => next(timedOut)),
      )
      .use(answering(500))
    await request(app).post('/orders/8812').expect(500)
    expect(await rig().settled()).toEqual(['leave'])
  })

  it('what it throws in the middle of its response, without permitErrors', async () => {
    const app = newApp().post(
      '/orders/:id',
      rig().guard({ resource }, (_req, res) => {
        res.write('a')
        throw timedOut
      }),
    )
    await request(app)
      .post('/orders/8812')
      .catch(() => undefined)
    expect(await rig().settled()).toEqual(['leave'])
  })

  it('its response, whatever it throws after that', async () => {
    const app = newApp()
      .post(
        '/orders/:id',
        rig().guard({ resource }, (_req, res) => {
          res.json({})
          throw new Error('too late')
        }),
      )
      .use(answering(500))
    await request(app).post('/orders/8812').expect(200)
    expect(await rig().settled()).toEqual(['confirm'])
  })
})

describe('a request whose baseUrl is set after it was asked about', () => {
  it('has the parameters that were asked about, and they stay frozen', async () => {
    const seen: unknown[] = []
    const app = newApp().post('/orders/:id', rig().guard({ resource }), (req, res) => {
      req.baseUrl = '/elsewhere'
      const change = () => {
        req.params.id = '9999'
      }
      expect(change).toThrow(TypeError)
      req.params = { id: '9999' }
      seen.push(req.params.id)
      req.baseUrl = ''
      seen.push(req.params.id)
      res.end()
    })
    await request(app).post('/orders/8812').expect(200)
    expect(seen).toEqual(['8812', '8812'])
  })
})

it('a wrapped handler is typed: its permit is there, and the request is the one that the options are about', () => {
  interface Refund {
    amount: number
  }
  const settings = { client: rig().client, agent_id: 'agent:a', action: 'order.read' } as const
  guard(
    { ...settings, resource: (req: Request<{ id: string }, unknown, Refund>) => `order:${req.params.id}` },
    (req, res) => {
      const cost: number = req.body.amount
      void req.permit.confirm({ amount: cost })
      res.json({ id: req.params.id satisfies string })
    },
  )
  const apart = (req: GuardedRequest): string | undefined => req.permit.decision?.id
  expect(apart).toBeTypeOf('function')
  expect(RouteDeniedError).toBeTypeOf('function')
})

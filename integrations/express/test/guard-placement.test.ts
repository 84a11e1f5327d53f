/** A guard among what apps have beside it: routers, other guards, CORS, compression, sessions. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { guard, permitErrors } from '@countersign/express'
import { answerReset } from '@countersign/testkit'
import compression from 'compression'
import express, { type Request, type RequestHandler } from 'express'
import session from 'express-session'
import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { gate, newApp, useRig } from './rig.js'

const rig = useRig()

const byId = { resource: (req: Request) => `order:${req.params.id}` }
const end: RequestHandler = (_req, res) => void res.end()

describe('a preflight of CORS', () => {
  const preflight = (app: express.Express) =>
    request(app).options('/').set('origin', 'https://shop.example').set('access-control-request-method', 'POST')

  it('asks nothing, and nothing else runs: neither the handler nor other routes of the path', async () => {
    let runs = 0
    const handler: RequestHandler = (_req, res) => {
      runs += 1
      res.end()
    }
    const app = newApp().all('/', rig().guard(), handler).all('/', handler).use(handler)
    await preflight(app).expect(204)
    expect([runs, rig().stub.requests.length]).toEqual([0, 0])
  })

  it('is answered with the headers that were set before the guard', async () => {
    const cors: RequestHandler = (_req, res, next) => {
      res.set('access-control-allow-origin', 'https://shop.example')
      next()
    }
    const { headers } = await preflight(newApp().all('/', cors, rig().guard(), end)).expect(204)
    expect(headers['access-control-allow-origin']).toBe('https://shop.example')
  })

  it('changes nothing in the mode observe: whatever runs without a guard runs, and nothing is asked', async () => {
    const answer: RequestHandler = (_req, res) => void res.set('access-control-max-age', '60').status(200).send('mine')
    const app = newApp().all('/', rig().guard({ mode: 'observe' }), answer)
    const { headers, text } = await preflight(app).expect(200)
    expect([headers['access-control-max-age'], text]).toEqual(['60', 'mine'])
    expect([rig().stub.requests, rig().events]).toEqual([[], []])
  })

  it('is answered by Express where the route takes another method', async () => {
    const { headers } = await preflight(newApp().post('/', rig().guard(), end)).expect(200)
    expect(headers.allow).toBe('POST')
    expect(rig().stub.requests).toEqual([])
  })

  it.each<[string, (app: express.Express) => request.Test]>([
    ['OPTIONS without an origin', (app) => request(app).options('/').set('access-control-request-method', 'POST')],
    [
      'OPTIONS without the method asked about',
      (app) => request(app).options('/').set('origin', 'https://shop.example'),
    ],
    [
      'POST with the headers of one',
      (app) =>
        request(app).post('/').set('origin', 'https://shop.example').set('access-control-request-method', 'POST'),
    ],
  ])('is not pretended: %s is asked about', async (_what, send) => {
    rig().decide('deny')
    await send(newApp().all('/', rig().guard(), end)).expect(403)
    expect(rig().questions()).toHaveLength(1)
  })
})

describe('a guard', () => {
  it('in a mounted router sees its parameters and body', async () => {
    const router = express.Router({ mergeParams: true }).post(
      '/:id',
      rig().guard({
        resource: (req) => `order:${req.params.tenant}-${req.params.id}`,
        context: (req) => ({ amount: req.body.amount, at: req.baseUrl }),
      }),
      end,
    )
    await request(newApp().use('/shops/:tenant/refunds', router))
      .post('/shops/s1/refunds/7')
      .send({ amount: 1 })
      .expect(200)
    expect(rig().questions()).toMatchObject([
      { resource: 'order:s1-7', context: { amount: 1, at: '/shops/s1/refunds' } },
    ])
  })

  it.each([
    ['/refunds/a%2Fb', 'order:a/b'],
    ['/refunds/a%252Fb', 'order:a%2Fb'],
    ['/refunds/..%2F..%2Fadmin', 'order:../../admin'],
    ['/refunds/%E2%82%AC', 'order:€'],
    ['/refunds/a%0D%0Ab', 'order:a\r\nb'],
  ])('asks about %s as the handler sees it', async (path, resource) => {
    const app = newApp().post('/refunds/:id', rig().guard(byId), (req, res) => void res.json(`order:${req.params.id}`))
    const { body } = await request(app).post(path).expect(200)
    expect(body).toBe(resource)
    expect(rig().questions()).toMatchObject([{ resource }])
  })

  it('is not reached by a path that is no text', async () => {
    await request(newApp().post('/refunds/:id', rig().guard(byId), end))
      .post('/refunds/%ff')
      .expect(400)
    expect(rig().stub.requests).toEqual([])
  })

  it.each([
    ['a list where there was a text', '/?to=a&to=b', { to: ['a', 'b'] }],
    ['a name of Object.prototype', '/?constructor=a&to=b', { to: 'b' }],
    ['nothing', '/', {}],
  ])('asks about a query as the handler sees it: %s', async (_what, path, context) => {
    const app = newApp().post('/', rig().guard({ context: (req) => ({ to: req.query.to as string }) }), (req, res) => {
      res.json(req.query.to === undefined ? {} : { to: req.query.to })
    })
    expect((await request(app).post(path).expect(200)).body).toEqual(context)
    expect(rig().questions()).toMatchObject([{ context }])
  })

  it('asks by the method that the route was found by, after a method was overridden', async () => {
    const app = newApp()
      .use((req, _res, next) => {
        req.method = String(req.headers['x-http-method-override'] ?? req.method)
        next()
      })
      .delete('/refunds/:id', rig().guard({ ...byId, action: 'refund.delete' }), end)
      .post('/refunds/:id', rig().guard({ ...byId, action: 'refund.create' }), end)
    await request(app).post('/refunds/1').set('x-http-method-override', 'DELETE').expect(200)
    expect(rig().questions()).toMatchObject([{ action: 'refund.delete' }])
  })

  it('is made with faulty options by nobody', () => {
    const { client } = rig()
    const right = { client, action: 'payment.refund' } as const
    const faulty: [object, string][] = [
      [{ action: 'payment.refund' }, 'client'],
      [{ ...right, point: client.enforcement() }, 'client'],
      [{ client }, 'action'],
      [{ ...right, failMode: 'open' }, 'failMode'],
      [{ ...right, onUnavailable: 'allow' }, 'onUnavailable'],
      [{ ...right, unmapped: 'map' }, 'unmapped'],
      [{ ...right, settle: 'auto' }, 'settle'],
      [{ ...right, settle: 'manual', outcome: () => undefined }, 'outcome'],
      [{ ...right, freeze: 'no' }, 'freeze'],
      [{ ...right, graceMs: 0 }, 'graceMs'],
      [{ ...right, idempotencyKey: 'one' }, 'idempotencyKey'],
      [{ ...right, resource: 7 }, 'resource'],
      [{ ...right, context: 'amount' }, 'context'],
      [{ point: client.enforcement(), action: 'a.b', mode: 'observe' }, 'mode'],
    ]
    for (const [options, name] of faulty) expect(() => guard(options as never), name).toThrow(new RegExp(`^${name} `))
  })

  it('can be given the options that all integrations share', async () => {
    const shared = { mode: 'enforce', review: 'throw', unmapped: 'deny' } as const
    await request(newApp().post('/', rig().guard(shared), end))
      .post('/')
      .expect(200)
  })

  it('asks and enforces as it was made, whatever is put on Object.prototype', async () => {
    rig().decide('deny')
    let runs = 0
    const handler: RequestHandler = (_req, res) => {
      runs += 1
      res.end()
    }
    const { client } = rig()
    const make = () => guard({ client, agent_id: 'agent:a', action: 'payment.refund' })
    const late: RequestHandler = (req, res, next) => make()(req, res, next)
    const app = newApp().post('/early', make(), handler).post('/late', late, handler)
    const socket = (await (await rig().listen(app)).connect()).setEncoding('latin1')
    const pollution = {
      mode: 'observe',
      freeze: false,
      kind: 'observed',
      resource: 'order:1',
      unmapped: 'map',
      outcome: () => ({ kind: 'succeeded' }),
      point: client.enforcement({ mode: 'observe' }),
    }
    Object.assign(Object.prototype, pollution)
    try {
      for (const path of ['/early', '/late']) {
        socket.write(`POST ${path} HTTP/1.1\r\nhost: app\r\ncontent-length: 0\r\n\r\n`)
        expect(String(await once(socket, 'data'))).toContain('403 Forbidden')
      }
    } finally {
      for (const name of Object.keys(pollution)) Reflect.deleteProperty(Object.prototype, name)
    }
    expect(runs).toBe(0)
    expect(rig().questions()).toHaveLength(2)
    for (const question of rig().questions()) expect(question.resource ?? null).toBeNull()
  })

  it('can be given an enforcement point that was made before', async () => {
    const point = rig().client.enforcement({ mode: 'observe' })
    rig().decide('deny')
    const app = newApp().post('/', guard({ point, agent_id: 'agent:a', action: 'a.b' }), end)
    await request(app).post('/').expect(200)
  })
})

describe('a response that was begun before the guard', () => {
  const begin: RequestHandler = (_req, res, next) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
    next()
  }
  const finish: RequestHandler = (_req, res, next) => {
    res.end('served from a cache')
    next()
  }

  it('by headers that were sent ahead goes on where it may', async () => {
    const app = newApp().get('/', begin, rig().guard(), (_req, res) => void res.end('data: done\n\n'))
    const { text } = await request(app).get('/').expect(200)
    expect(text).toBe(': hello\n\ndata: done\n\n')
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('by headers that were sent ahead breaks off where it may not', async () => {
    rig().decide('deny')
    let runs = 0
    const app = newApp()
      .get('/', begin, rig().guard(), (_req, res) => {
        runs += 1
        res.end()
      })
      .use(permitErrors())
    await expect(request(app).get('/')).rejects.toThrow('aborted')
    expect(runs).toBe(0)
  })

  it('and ended stays as it is, and nothing runs', async () => {
    let runs = 0
    const app = newApp()
      .get('/', finish, rig().guard(), () => {
        runs += 1
      })
      .use(permitErrors())
    await request(app).get('/').expect(200, 'served from a cache')
    expect(await rig().settled()).toEqual(['reject'])
    expect(runs).toBe(0)
  })

  it('is not cut off by a preflight of CORS', async () => {
    const app = newApp().all('/', begin, rig().guard(), end)
    app.use(end)
    const { url } = await rig().listen(app)
    const answer = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
    })
    expect(answer.status).toBe(200)
    expect(rig().stub.requests).toEqual([])
    await answer.body?.cancel()
  })
})

describe('two guards of one route', () => {
  const both = (second: Parameters<ReturnType<typeof rig>['guard']>[0] = {}, between: RequestHandler[] = []) =>
    newApp()
      .post(
        '/',
        rig().guard({ action: 'payment.refund' }),
        ...between,
        rig().guard({ action: 'mail.send', ...second }),
        (req, res) => void res.json(req.permit?.asked?.action),
      )
      .use(permitErrors())

  it('are two decisions, both settled by the response; the second one is req.permit', async () => {
    const { body } = await request(both()).post('/').set('idempotency-key', 'k1').expect(200)
    expect(body).toBe('mail.send')
    expect(
      rig()
        .questions()
        .map(({ action }) => action),
    ).toEqual(['payment.refund', 'mail.send'])
    expect(await rig().settled(2)).toEqual(['confirm', 'confirm'])
  })

  it('that ask the very same are two decisions, each for a run of its own', async () => {
    const app = newApp().post('/', rig().guard(), rig().guard(), (_req, res) => void res.end())
    await request(app).post('/').expect(200)
    expect(rig().questions()).toHaveLength(2)
    expect(await rig().settled(2)).toEqual(['confirm', 'confirm'])
  })

  it('let nothing run when the second one denies, and the first decision is rejected', async () => {
    rig().decide(({ action }) => (action === 'mail.send' ? 'deny' : 'allow'))
    await request(both()).post('/').expect(403)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('let nothing run when the second one has no answer, and the first decision is rejected: nothing was done', async () => {
    rig().answer('/decisions', rig().lifecycle.answer, answerReset, answerReset)
    await request(both()).post('/').expect(503)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('let nothing run when the first decision is over before the second one came', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    try {
      const elevenMinutes: RequestHandler = (_req, _res, next) => {
        vi.setSystemTime(Date.now() + 660_000)
        next()
      }
      const { body } = await request(both({}, [elevenMinutes]))
        .post('/')
        .expect(403)
      expect(body.code).toBe('expired')
      expect(await rig().settled(2)).toEqual(['reject', 'reject'])
    } finally {
      vi.useRealTimers()
    }
  })

  it.each<[string, (now: () => number) => RequestHandler]>([
    ['its guard was given', (now) => rig().guard({ now })],
    [
      'the point of its guard was given',
      (now) =>
        guard({ point: rig().client.enforcement({ now, onEvent: rig().onEvent }), agent_id: 'agent:a', action: 'a.b' }),
    ],
  ])('hold the first decision against the clock that %s', async (_, first) => {
    let aheadMs = 0
    const now = () => Date.now() + aheadMs
    const elevenMinutes: RequestHandler = (_req, _res, next) => {
      aheadMs = 660_000
      next()
    }
    const app = newApp().post('/', first(now), elevenMinutes, rig().guard(), end).use(permitErrors())
    const { body } = await request(app).post('/').expect(403)
    expect(body.code).toBe('expired')
    expect(await rig().settled(2)).toEqual(['reject', 'reject'])
  })

  it('reject the first decision when the second one refuses, although an error handler answers 200', async () => {
    rig().decide(({ action }) => (action === 'mail.send' ? 'deny' : 'allow'))
    const answer: express.ErrorRequestHandler = (error, _req, res, _next) => void res.json({ error: error.code })
    const app = newApp()
      .post('/', rig().guard({ action: 'payment.refund' }), rig().guard({ action: 'mail.send' }), end)
      .use(answer)
    expect((await request(app).post('/').expect(200)).body).toEqual({ error: 'denied' })
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('reject the first decision when the second one refuses, although the handler was to settle it', async () => {
    rig().decide(({ action }) => (action === 'mail.send' ? 'deny' : 'allow'))
    const app = newApp()
      .post('/', rig().guard({ settle: 'manual' }), rig().guard({ action: 'mail.send' }), end)
      .use(permitErrors())
    await request(app).post('/').expect(403)
    expect(await rig().settled()).toEqual(['reject'])
  })

  it('keep what was said of the first decision before the second one refused', async () => {
    rig().decide(({ action }) => (action === 'mail.send' ? 'deny' : 'allow'))
    const pay: RequestHandler = (req, _res, next) => {
      void req.permit?.confirm({ amount: 5 })
      next()
    }
    await request(both({}, [pay]))
      .post('/')
      .expect(403)
    expect(await rig().settled()).toEqual(['confirm'])
  })
})

describe('beside compression', () => {
  const large = { text: randomBytes(8_000).toString('hex') }
  const send = (app: express.Express) => request(app).get('/').set('accept-encoding', 'gzip')

  it.each<[string, (guarded: RequestHandler) => RequestHandler[]]>([
    ['before', (guarded) => [compression() as RequestHandler, guarded]],
    ['after', (guarded) => [guarded, compression() as RequestHandler]],
  ])('that comes %s it, a response is whole and settled once', async (_where, inOrder) => {
    const app = newApp().get('/', ...inOrder(rig().guard() as RequestHandler), (_req, res) => void res.json(large))
    const { body, headers } = await send(app).expect(200)
    expect([headers['content-encoding'], body]).toEqual(['gzip', large])
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().transitions()).toHaveLength(1)
  })

  it.each<[string, (guarded: RequestHandler) => RequestHandler[]]>([
    ['before', (guarded) => [compression() as RequestHandler, guarded]],
    ['after', (guarded) => [guarded, compression() as RequestHandler]],
  ])(
    'that comes %s it, a response that ends after its caller has left is settled by its status',
    async (_where, inOrder) => {
      const [started, gone] = [gate(), gate()]
      const app = newApp().get('/', ...inOrder(rig().guard() as RequestHandler), async (_req, res) => {
        res.once('close', () => gone.open())
        started.open()
        await gone.opened
        res.status(409).json(large)
      })
      const socket = await (await rig().listen(app)).connect()
      socket.write('GET / HTTP/1.1\r\nHost: app\r\nAccept-Encoding: gzip\r\n\r\n')
      await started.opened
      socket.destroy()
      expect(await rig().settled()).toEqual(['reject'])
    },
  )
})

describe('beside a session that delays the end of the response', () => {
  /** Saves only when the test lets it. */
  class SlowStore extends session.MemoryStore {
    readonly saving = gate()
    readonly mayEnd = gate()
    override set(...[id, data, callback]: Parameters<session.MemoryStore['set']>): void {
      this.saving.open()
      void this.mayEnd.opened.then(() => super.set(id, data, callback))
    }
  }
  const appWith = (store: session.Store, status: number, graceMs = 30_000) =>
    newApp()
      .use(session({ secret: 'of a test', resave: true, saveUninitialized: true, store }) as RequestHandler)
      .get('/', rig().guard({ graceMs }), (_req, res) => void res.status(status).json({ done: true }))

  it.each([
    [200, 'confirm'],
    [500, 'reject'],
  ])('a response %d is settled when it has ended', async (status, told) => {
    const store = new SlowStore()
    const answer = request(appWith(store, status))
      .get('/')
      .then((res) => res)
    await store.saving.opened
    expect(rig().transitions()).toEqual([])
    store.mayEnd.open()
    expect((await answer).headers['set-cookie']).toHaveLength(1)
    expect(await rig().settled()).toEqual([told])
  })

  it('a caller who leaves meanwhile changes nothing about what the handler has answered', async () => {
    const store = new SlowStore()
    const socket = await (await rig().listen(appWith(store, 500))).connect()
    socket.write('GET / HTTP/1.1\r\nHost: app\r\n\r\n')
    await store.saving.opened
    socket.destroy()
    expect(await rig().settled()).toEqual(['reject'])
    store.mayEnd.open()
  })

  it('and comes after the guard, a response that ends after its caller has left is settled by its status', async () => {
    const [started, gone] = [gate(), gate()]
    const store = new SlowStore()
    const sessions = session({ secret: 'of a test', resave: true, saveUninitialized: true, store }) as RequestHandler
    const app = newApp().get('/', rig().guard() as RequestHandler, sessions, async (_req, res) => {
      res.once('close', () => gone.open())
      started.open()
      await gone.opened
      res.status(409).json({})
    })
    const socket = await (await rig().listen(app)).connect()
    socket.write('GET / HTTP/1.1\r\nHost: app\r\n\r\n')
    await started.opened
    socket.destroy()
    expect(await rig().settled()).toEqual(['reject'])
    store.mayEnd.open()
  })
})

describe('a middleware that calls next twice', () => {
  it('lets Express walk past a guard that is asking: the handler sees no permit, and can insist on it', async () => {
    const asked = gate()
    const mayAnswer = gate()
    rig().answer('/decisions', async (question, response) => {
      asked.open()
      await mayAnswer.opened
      rig().lifecycle.answer(question, response)
    })
    const seen: unknown[] = []
    const twice: RequestHandler = async (_req, _res, next) => {
      next()
      await asked.opened
      next()
    }
    const app = newApp().get('/', twice, rig().guard(), (req, res) => {
      seen.push(req.permit)
      if (req.permit === undefined) throw new Error('no guard has let this through')
      res.end()
    })
    await request(app).get('/').expect(500)
    mayAnswer.open()
    expect(seen).toEqual([undefined])
  })
})

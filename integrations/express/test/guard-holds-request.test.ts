/** A route does what was asked about: changes that come after the question are refused, or reach nobody. */
import { inspect } from 'node:util'
import { permitErrors } from '@countersign/express'
import type { StubAnswer } from '@countersign/testkit'
import express, { type Request, type RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { gate, newApp, useRig } from './rig.js'

const rig = useRig()

const asks = {
  resource: (req: Request) => `order:${req.params.id}`,
  context: (req: Request) => ({ amount: req.body.amount }),
}

/** Refunds what the request says by the time the handler runs. */
function appWith(between: RequestHandler, options: Parameters<ReturnType<typeof rig>['guard']>[0] = {}) {
  const refunded: unknown[] = []
  const app = newApp()
    .post('/refunds/:id', rig().guard({ ...asks, ...options }), between, (req, res) => {
      refunded.push([req.params.id, req.body.amount, req.query.currency, req.body.items])
      res.json({})
    })
    .use(permitErrors())
  const send = () =>
    request(app)
      .post('/refunds/8812?currency=EUR')
      .send({ amount: 42.5, items: [{ count: 1 }] })
  return { send, refunded }
}

/** Puts a part of the request in its place as validators do it, not configurable. */
function defineBefore(part: 'body' | 'query' | 'params', value: unknown, more: PropertyDescriptor): RequestHandler {
  return (req, _res, next) => {
    // What the router has set is configurable, and would stay so.
    Reflect.deleteProperty(req, part)
    Object.defineProperty(req, part, { ...Object.getOwnPropertyDescriptor(req, part), value, ...more })
    next()
  }
}

const UNCHANGED = ['8812', 42.5, 'EUR', [{ count: 1 }]]

const CHANGES = 10_000

/** What is done to a request, or to something in it. */
interface Change {
  readonly targetOf: (req: Request) => object
  readonly name: string
  readonly value: unknown
  readonly make: (target: object, name: string, value: unknown) => void
}

const NEW_VALUES = [0, -1, 4250, '42.5', null, [], {}, { amount: 1 }, true, undefined, Number.NaN]
const NAMES = ['amount', 'items', 'count', 'id', 'currency', '0', 'length', '__proto__', 'constructor']
const PARTS = ['body', 'query', 'params']
const WITHIN: readonly Change['targetOf'][] = [
  (req) => req.body,
  (req) => req.body.items,
  (req) => req.body.items[0],
  (req) => req.params,
  (req) => req.query,
]
/** Of one member. */
const MEMBER_WAYS: readonly Change['make'][] = [
  (target, name, value) => {
    ;(target as Record<string, unknown>)[name] = value
  },
  (target, name, value) => void Reflect.set(target, name, value),
  (target, name, value) =>
    void Reflect.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true }),
  (target, name) => void Reflect.deleteProperty(target, name),
]
/** Of the whole. */
const WHOLE_WAYS: readonly Change['make'][] = [
  (target, _name, value) => void Object.assign(target, value),
  (target, _name, value) => void Object.setPrototypeOf(target, value as object),
  (target, _name, value) => void (Array.isArray(target) && target.splice(0, 1, value)),
]

/** Always the same ones. */
function* drawChanges(): Generator<Change, never> {
  let seed = 7
  const one = <Item>(items: readonly Item[]): Item => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return items[(seed >> 8) % items.length] as Item
  }
  for (;;) {
    const value = one(NEW_VALUES)
    yield one([
      // The rest of a request is not held.
      { targetOf: (req) => req, name: one(PARTS), value, make: one(MEMBER_WAYS) },
      { targetOf: one(WITHIN), name: one(NAMES), value, make: one([...MEMBER_WAYS, ...WHOLE_WAYS]) },
    ] satisfies Change[])
  }
}

function attempt(req: Request, { targetOf, name, value, make }: Change): void {
  try {
    make(targetOf(req), name, value)
  } catch {
    // Refused loudly.
  }
}

/** What was asked about, as the handler sees it. */
function picture({ params, body, query }: Request): string {
  return inspect({ params, body, query }, { depth: 9 })
}

/** As it was sent, where nothing is held. */
function putBack(req: Request): void {
  const sent = {
    params: { id: '8812' },
    body: { amount: 42.5, items: [{ count: 1 }] },
    query: { currency: 'EUR' },
  }
  for (const [part, value] of Object.entries(sent)) {
    Object.defineProperty(req, part, { value, configurable: true, writable: true, enumerable: true })
  }
}

describe('a request that was asked about', () => {
  it.each<[string, (req: Request) => void]>([
    [
      'a member of the body',
      (req) => {
        req.body.amount = 4250
      },
    ],
    [
      'a member deep in the body',
      (req) => {
        req.body.items[0].count = 100
      },
    ],
    [
      'a list in the body',
      (req) => {
        req.body.items.push({ count: 100 })
      },
    ],
    [
      'a new member of the body',
      (req) => {
        req.body.fee = 1
      },
    ],
    [
      'a member that is taken away',
      (req) => {
        delete req.body.amount
      },
    ],
    [
      'the body',
      (req) => {
        req.body = { amount: 4250 }
      },
    ],
    [
      'the body, by a property',
      (req) => {
        Object.defineProperty(req, 'body', { value: { amount: 4250 } })
      },
    ],
    [
      'the body, by taking it away',
      (req) => {
        delete req.body
      },
    ],
    [
      'the prototype of the body',
      (req) => {
        Object.setPrototypeOf(req.body, { amount: 4250 })
      },
    ],
    [
      'a parameter',
      (req) => {
        req.params.id = '1'
      },
    ],
    [
      'a value of the query',
      (req) => {
        req.query.currency = 'JPY'
      },
    ],
    [
      'the query',
      (req) => {
        ;(req as { query: unknown }).query = { currency: 'JPY' }
      },
    ],
  ])('cannot be changed: %s', async (_what, change) => {
    const { send, refunded } = appWith((req, _res, next) => {
      change(req)
      next()
    })
    await send().expect(500)
    expect(refunded).toEqual([])
    // What it throws is a TypeError: nobody tells the guard that the handler has not begun.
    expect(await rig().settled()).toEqual(['leave'])
  })

  it.each<[string, (req: Request) => void]>([
    [
      'other parameters in their place',
      (req) => {
        req.params = { id: '1' }
      },
    ],
    [
      'another URL',
      (req) => {
        req.url = '/refunds/1?currency=JPY'
      },
    ],
    [
      'another method',
      (req) => {
        req.method = 'DELETE'
      },
    ],
    [
      'Reflect.set',
      (req) => {
        Reflect.set(req.body, 'amount', 4250)
      },
    ],
  ])('is run as it was, whatever is done to it: %s', async (_what, change) => {
    const { send, refunded } = appWith((req, _res, next) => {
      change(req)
      next()
    })
    await send().expect(200)
    expect(refunded).toEqual([UNCHANGED])
  })

  it('is not the object that others keep: what they do to theirs later changes nothing', async () => {
    let body: { amount: number } | undefined
    const app = newApp().post(
      '/',
      (req, _res, next) => {
        body = req.body
        next()
      },
      rig().guard({ context: (req) => ({ amount: req.body.amount }) }),
      (_req, _res, next) => {
        if (body !== undefined) body.amount = 4250
        next()
      },
      (req, res) => void res.json(req.body),
    )
    expect((await request(app).post('/').send({ amount: 1 })).body).toEqual({ amount: 1 })
  })

  it('is held before it is asked about, so that nothing changes while the answer is on its way', async () => {
    const asked = gate()
    const tried = gate()
    const held: StubAnswer = (question, response) => {
      asked.open()
      void tried.opened.then(() => rig().lifecycle.answer(question, response))
    }
    rig().answer('/decisions', held)
    const errors: unknown[] = []
    const swap: RequestHandler = (req, _res, next) => {
      void asked.opened.then(() => {
        for (const change of [
          () => {
            req.body = { amount: 4250 }
          },
          () => {
            req.body.amount = 4250
          },
        ]) {
          try {
            change()
          } catch (error) {
            errors.push(error)
          }
        }
        tried.open()
      })
      next()
    }
    const app = newApp().post('/', swap, rig().guard({ context: asks.context }), (req, res) => void res.json(req.body))
    expect((await request(app).post('/').send({ amount: 1 })).body).toEqual({ amount: 1 })
    expect(errors).toEqual([expect.any(TypeError), expect.any(TypeError)])
    expect(rig().questions()).toMatchObject([{ context: { amount: 1 } }])
  })

  it('cannot be changed by the functions that map it', async () => {
    const { send, refunded } = appWith((_req, _res, next) => next(), {
      context: (req) => {
        req.body.amount = 1
        return { amount: 1 }
      },
    })
    expect((await send().expect(403)).body.code).toBe('mapping_failed')
    expect(refunded).toEqual([])
  })

  it.each(['query', 'body'] as const)(
    'is held where its %s was defined before as what can be written alone, as validators do it',
    async (part) => {
      const throwing: unknown[] = []
      const app = newApp().post(
        '/',
        defineBefore(part, { amount: 1, items: [{ count: 1 }] }, { writable: true }),
        rig().guard({ context: (req) => ({ amount: req[part].amount }) }),
        (req, _res, next) => {
          const changes: (() => unknown)[] = [
            () => Object.assign(req, { [part]: { amount: 4250 } }),
            () => Object.defineProperty(req, part, { value: { amount: 4250 } }),
            () => Object.defineProperty(req, part, { writable: true }),
            () => delete (req as unknown as Record<string, unknown>)[part],
            () => Object.assign(req[part], { amount: 4250 }),
            () => req[part].items.push({ count: 100 }),
          ]
          for (const change of changes) {
            try {
              change()
            } catch (error) {
              throwing.push(error)
            }
          }
          next()
        },
        // A second guard finds it held.
        rig().guard({ action: 'mail.send', context: (req) => ({ amount: req[part].amount }) }),
        (req, res) => void res.json(req[part]),
      )
      const { status, body } = await request(app).post('/').send({})
      expect([status, body]).toEqual([200, { amount: 1, items: [{ count: 1 }] }])
      expect(throwing).toEqual(Array.from({ length: 6 }, () => expect.any(TypeError)))
      expect(rig().questions()).toMatchObject([{ context: { amount: 1 } }, { context: { amount: 1 } }])
    },
  )

  it('is not the object that a validator has defined: what it does to its own later changes nothing', async () => {
    const parsed = { amount: 1 }
    const app = newApp().post(
      '/',
      defineBefore('query', parsed, { writable: true }),
      rig().guard({ context: (req) => ({ amount: req.query.amount as never }) }),
      (req, res) => {
        parsed.amount = 4250
        res.json(req.query)
      },
    )
    expect((await request(app).post('/').send({})).body).toEqual({ amount: 1 })
  })

  it('with freeze: false is the app’s own affair', async () => {
    const { send, refunded } = appWith(
      (req, _res, next) => {
        req.body = { amount: 1 }
        next()
      },
      { freeze: false },
    )
    await send().expect(200)
    expect(refunded).toEqual([['8812', 1, 'EUR', undefined]])
  })

  it(`changed in any of ${CHANGES} ways runs as it was asked about; without the guard each of them changes it`, async () => {
    const drawn = drawChanges()
    const effective: Change[] = []
    const free = appWith(
      (req, _res, next) => {
        while (effective.length < CHANGES) {
          putBack(req)
          const before = picture(req)
          const change = drawn.next().value
          attempt(req, change)
          if (picture(req) !== before) effective.push(change)
        }
        putBack(req)
        next()
      },
      { freeze: false },
    )
    await free.send().expect(200)
    expect(effective).toHaveLength(CHANGES)

    const changed: Change[] = []
    const held = appWith((req, _res, next) => {
      const asked = picture(req)
      for (const change of effective) {
        attempt(req, change)
        if (picture(req) !== asked) changed.push(change)
      }
      next()
    })
    await held.send().expect(200)
    expect(changed).toEqual([])
    expect(held.refunded).toEqual([UNCHANGED])
  })
})

describe('what cannot be held still', () => {
  it('is refused: bytes', async () => {
    const app = express()
      .use(express.raw())
      .post('/', rig().guard(), (_req, res) => void res.end())
      .use(permitErrors())
    const send = () => request(app).post('/').type('application/octet-stream').send(Buffer.from('bytes'))
    const { status, body } = await send()
    expect([status, body.code]).toEqual([403, 'arguments_refused'])
    expect(rig().stub.requests).toEqual([])
  })

  it.each<['body' | 'query' | 'params', PropertyDescriptor]>([
    ['query', { writable: false }],
    ['body', { writable: false }],
    // The router goes on to write it.
    ['params', { writable: true }],
  ])('is refused: a %s that is defined for good, and the cause says how to define it', async (part, more) => {
    let runs = 0
    const run: RequestHandler = (_req, res) => {
      runs += 1
      res.end()
    }
    const goOn: express.ErrorRequestHandler = (_error, _req, _res, next) => next()
    const define = defineBefore(part, {}, more)
    const app = newApp()
      .post('/', define, rig().guard(), run)
      .post('/twice', define, rig().guard(), goOn, rig().guard(), run)
      .use(permitErrors())
    for (const path of ['/', '/twice']) {
      const { status, body } = await request(app).post(path).send({})
      expect([status, body.code]).toEqual([403, 'arguments_refused'])
    }
    expect(runs).toBe(0)
    expect(rig().stub.requests).toEqual([])
    const [event] = rig().events
    expect(event?.type === 'denied' && event.error.cause).toMatchObject({
      name: 'TypeError',
      message: `req.${part} cannot be frozen, because it is not configurable: define it with configurable: true before the guard`,
    })
  })

  it.each<[string, () => unknown]>([
    [
      'an instance of a class',
      () =>
        new (class Order {
          amount = 1
        })(),
    ],
    ['a date', () => ({ at: new Date() })],
    ['a map', () => ({ amounts: new Map() })],
    [
      'an accessor',
      () => ({
        get amount() {
          return 1
        },
      }),
    ],
    ['a function', () => ({ toJSON: () => 1 })],
    ['a member named by a symbol', () => ({ [Symbol('amount')]: 1 })],
    [
      'what contains itself',
      () => {
        const body: Record<string, unknown> = {}
        body.self = body
        return body
      },
    ],
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no')
            },
          },
        ),
    ],
    ['nesting that would end the stack', () => JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)],
  ])('is refused: %s', async (_what, body) => {
    const set: RequestHandler = (req, _res, next) => {
      req.body = body()
      next()
    }
    let runs = 0
    const app = newApp()
      .post('/', set, rig().guard(), (_req, res) => {
        runs += 1
        res.end()
      })
      .use(permitErrors())
    const answer = await request(app).post('/')
    expect([answer.status, answer.body.code, runs]).toEqual([403, 'arguments_refused', 0])
    expect(rig().stub.requests).toEqual([])
  })

  it.each([
    ['JSON', express.json()],
    ['a form', express.urlencoded()],
    ['text', express.text({ type: () => true })],
  ])('is what is parsed after the guard: %s; nothing runs', async (_what, parser) => {
    let runs = 0
    const app = express()
      .set('env', 'test')
      .post('/', rig().guard(), parser, (_req, res) => {
        runs += 1
        res.end()
      })
    const post = request(app).post('/')
    const { status } = await (parser.name === 'urlencodedParser' ? post.type('form').send('a=1') : post.send({ a: 1 }))
    expect(status).toBeGreaterThanOrEqual(400)
    expect(runs).toBe(0)
    // What throws behind the guard may be a handler that has acted.
    expect(await rig().settled()).toEqual(['leave'])
  })

  it('is none of what parsers make: forms, lists, __proto__ and text', async () => {
    const app = express()
      .set('query parser', 'extended')
      .use(express.json({ strict: false }), express.urlencoded({ extended: true }), express.text())
      .post('/', rig().guard(), (req, res) => {
        const own = req.body !== null && typeof req.body === 'object' && Object.hasOwn(req.body, '__proto__')
        res.json({ body: req.body, query: req.query, own, polluted: ({} as Record<string, unknown>).amount })
      })
    const post = () => request(app).post('/?a[b][]=1&a[b][]=2&__proto__[amount]=1')
    expect((await post().type('form').send('x[y]=1&x[y]=2')).body).toMatchObject({
      body: { x: { y: ['1', '2'] } },
      query: { a: { b: ['1', '2'] } },
    })
    expect((await post().type('json').send('[1, {"a": null}]')).body.body).toEqual([1, { a: null }])
    expect((await post().type('json').send('"text"')).body.body).toBe('text')
    expect((await post().type('text').send('text')).body.body).toBe('text')
    expect((await post().type('json').send('{"__proto__": {"amount": 1}}')).body).toMatchObject({ own: true })
    expect((await post()).body).not.toHaveProperty('polluted')
  })
})

describe('a request that leaves the guarded route', () => {
  it('has the parameters of the next route, and body and query as they were asked about', async () => {
    const app = newApp()
      .post('/:id', rig().guard(asks), (_req, _res, next) => next('route'))
      .post('/:other', (req, res) => void res.json({ params: req.params, body: req.body, query: req.query }))
    const { body } = await request(app).post('/7?a=1').send({ amount: 1 })
    expect(body).toEqual({ params: { other: '7' }, body: { amount: 1 }, query: { a: '1' } })
  })

  it.each<[string, (req: Request) => void]>([
    [
      'the body',
      (req) => {
        req.body = { amount: 4250 }
      },
    ],
    [
      'a member of the body',
      (req) => {
        req.body.amount = 4250
      },
    ],
    [
      'the query',
      (req) => {
        ;(req as { query: unknown }).query = { currency: 'JPY' }
      },
    ],
  ])(
    'cannot be changed in a later one, where a guard stands in a route before the handler’s: %s',
    async (_what, change) => {
      let runs = 0
      const app = newApp()
        .all('/*path', rig().guard({ context: asks.context }))
        .post('/refunds/:id', (req, res) => {
          change(req)
          runs += 1
          res.end()
        })
      await request(app).post('/refunds/7').send({ amount: 1 }).expect(500)
      expect(runs).toBe(0)
      expect(await rig().settled()).toEqual(['reject'])
    },
  )

  it('has the parameters of a router that it is passed on to', async () => {
    const inner = express.Router({ mergeParams: true }).post('/:inner', (req, res) => void res.json(req.params))
    const app = newApp()
      .post('/:a/:b', rig().guard(), (_req, _res, next) => next())
      .use('/:outer', inner)
    expect((await request(app).post('/1/2').send({})).body).toEqual({ outer: '1', inner: '2' })
  })

  it('is asked about by the parameters of each guarded route', async () => {
    const guarded = rig().guard({ ...asks, resource: (req) => `order:${JSON.stringify(req.params)}` })
    const app = newApp()
      .post('/:id', guarded, (_req, _res, next) => next('route'))
      .post('/:other', guarded, (req, res) => {
        req.params.other = '1'
        res.end()
      })
    await request(app).post('/7').send({ amount: 1 }).expect(500)
    expect(rig().questions()).toMatchObject([{ resource: 'order:{"id":"7"}' }, { resource: 'order:{"other":"7"}' }])
  })

  it('reaches error handlers with what they may read, as before', async () => {
    const app = newApp()
      .post('/:id', rig().guard(asks), () => {
        throw new Error('broken')
      })
      .use(((_error, req, res, _next) => void res.status(500).json(req.body)) as express.ErrorRequestHandler)
    expect((await request(app).post('/7').send({ amount: 1 }).expect(500)).body).toEqual({ amount: 1 })
  })
})

describe('a guard before many routes', () => {
  it('holds body and query in all of them, and leaves each its parameters', async () => {
    const asksBody = { context: (req: Request) => ({ amount: req.body.amount }) }
    const app = newApp()
      .use(rig().guard(asksBody))
      .post('/:id', (req, res) => {
        expect(() => {
          req.body = {}
        }).toThrow(TypeError)
        expect(() => {
          req.body.amount = 9
        }).toThrow(TypeError)
        res.json({ params: req.params, body: req.body, query: req.query })
      })
    const { body } = await request(app).post('/7?a=1').send({ amount: 1 })
    expect(body).toEqual({ params: { id: '7' }, body: { amount: 1 }, query: { a: '1' } })
  })
})

/** What becomes of an action whose caller leaves, over sockets that are really torn down. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { permitErrors, requirePermit } from '@countersign/express'
import { any } from '@countersign/permit'
import type { StubAnswer } from '@countersign/testkit'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, ISSUER, permit } from './permits.js'
import { gate, newApp, useRig } from './rig.js'

const rig = useRig()

type Options = Parameters<ReturnType<typeof rig>['guard']>[0]

const get = (path = '/') => `GET ${path} HTTP/1.1\r\nHost: app\r\n\r\n`

/** Starts a request, leaves once the handler runs, and lets the handler go on once the server knows. */
async function abandoned(work: RequestHandler, options: Options = {}) {
  const started = gate()
  const gone = gate()
  const app = newApp()
    .get('/', rig().guard(options), async (req, res, next) => {
      res.once('close', () => gone.open())
      started.open()
      await gone.opened
      return work(req, res, next)
    })
    .use(permitErrors())
  const { connect } = await rig().listen(app)
  const socket = await connect()
  socket.write(get())
  await started.opened
  socket.destroy()
  await gone.opened
}

describe('a caller who leaves while the handler works', () => {
  it.each<[string, RequestHandler, string]>([
    ['res.json', (_req, res) => void res.json({ done: true }), 'confirm'],
    ['a stream', (_req, res) => void res.write('a', () => res.end('b')), 'confirm'],
    ['status 409', (_req, res) => void res.status(409).json({}), 'reject'],
    ['status 500', (_req, res) => void res.sendStatus(500), 'reject'],
    [
      'an error',
      () => {
        throw new Error('broken')
      },
      'reject',
    ],
  ])('is settled by what the handler ends with: %s', async (_how, work, told) => {
    await abandoned(work)
    expect(await rig().settled()).toEqual([told])
    expect(rig().transitions()).toHaveLength(1)
  })

  it('is left when the handler never ends', async () => {
    await abandoned(() => undefined, { graceMs: 1 })
    expect(await rig().settled()).toEqual(['leave'])
    expect(rig().transitions()).toEqual([])
  })

  it('is settled once when the handler ends after the time that it was given', async () => {
    const late = gate()
    await abandoned(
      async (_req, res) => {
        await late.opened
        res.json({})
      },
      { graceMs: 1 },
    )
    expect(await rig().settled()).toEqual(['leave'])
    late.open()
    await rig().client.flush()
    expect(rig().transitions()).toEqual([])
  })

  it('is settled by the handler’s own word', async () => {
    await abandoned(async (req) => void (await req.permit?.confirm({ amount: 5 })), { graceMs: 1 })
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().transitions()).toEqual([['confirm', { amount: 5 }]])
  })

  it('is settled by the option outcome', async () => {
    await abandoned((_req, res) => void res.sendStatus(500), { outcome: () => ({ kind: 'succeeded', amount: 2 }) })
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('is confirmed when the handler has ended, and only bytes were left to send', async () => {
    const ended = gate()
    const app = newApp().get('/', rig().guard({ graceMs: 1 }), (_req, res) => {
      res.end(Buffer.alloc(64 * 1024 * 1024))
      ended.open()
    })
    const { connect } = await rig().listen(app)
    const socket = await connect()
    socket.pause()
    socket.write(get())
    await ended.opened
    socket.resetAndDestroy()
    expect(await rig().settled()).toEqual(['confirm'])
  })
})

describe('a stream whose reader leaves', () => {
  async function* endless() {
    for (;;) yield Buffer.alloc(64 * 1024)
  }

  it('in a pipeline is neither confirmed nor rejected', async () => {
    const app = newApp()
      .get('/', rig().guard({ graceMs: 1 }), async (_req, res) => pipeline(Readable.from(endless()), res))
      .use(permitErrors())
    const { connect } = await rig().listen(app)
    const socket = await connect()
    socket.write(get())
    socket.once('data', () => socket.destroy())
    expect(await rig().settled()).toEqual(['leave'])
    expect(rig().transitions()).toEqual([])
  })

  it('and that ends by itself because of that is confirmed: events for as long as somebody listens', async () => {
    const app = newApp().get('/', rig().guard({ graceMs: 1_000 }), (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: first\n\n')
      res.on('close', () => res.end())
    })
    const { connect } = await rig().listen(app)
    const socket = await connect()
    socket.write(get())
    socket.once('data', () => socket.destroy())
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it('is confirmed although its decision was over meanwhile', async () => {
    const app = newApp().get('/', rig().guard(), (_req, res) => {
      res.write('data: first\n\n')
      rig().lifecycle.change(res.locals.permit?.decision?.id ?? '', { status: 'expired' })
      res.end()
    })
    const { url } = await rig().listen(app)
    await (await fetch(url)).text()
    expect(await rig().settled()).toEqual(['confirm'])
    expect(rig().transitions()).toEqual([['confirm', {}]])
  })
})

describe('a caller who leaves before the handler runs', () => {
  it.each([
    ['the handler does not run', [get('/1')]],
    ['on a connection with two requests neither handler runs', [get('/1'), get('/2')]],
  ])('while the decision is asked for: %s, and what is decided is taken back', async (_what, requests) => {
    let runs = 0
    const app = newApp().get('/:which', rig().guard(), (_req, res) => {
      runs += 1
      res.end()
    })
    const { connect, server } = await rig().listen(app)
    const left = gate()
    const held: StubAnswer = (asked, response) => void left.opened.then(() => rig().lifecycle.answer(asked, response))
    rig().answer('/decisions', ...requests.map(() => held))
    const closed = requests.map(() => gate())
    const closing = [...closed]
    server.on('request', (req) => req.once('close', () => closing.shift()?.open()))
    const socket = await connect()
    socket.write(requests.join(''))
    while (rig().questions().length < requests.length) await rig().stub.nextRequest()
    socket.destroy()
    await Promise.all(closed.map(({ opened }) => opened))
    left.open()
    expect(await rig().settled(requests.length)).toEqual(requests.map(() => 'reject'))
    expect(runs).toBe(0)
  })

  it.each([
    ['by its response', 'outcome'],
    ['by the handler', 'manual'],
  ] as const)(
    'while a second guard asks: what the first one let through is rejected too, to be settled %s',
    async (_how, settle) => {
      let runs = 0
      const [closed, decided] = [gate(), gate()]
      const app = newApp().get(
        '/',
        rig().guard({ settle, graceMs: 1 }),
        rig().guard({ action: 'mail.send' }),
        (_req, res) => {
          runs += 1
          res.end()
        },
      )
      const { connect, server } = await rig().listen(app)
      server.on('request', (_req, res) => res.once('close', () => closed.open()))
      rig().answer('/decisions', rig().lifecycle.answer, (asked, response) => {
        void decided.opened.then(() => rig().lifecycle.answer(asked, response))
      })
      const socket = await connect()
      socket.write(get())
      while (rig().questions().length < 2) await rig().stub.nextRequest()
      socket.destroy()
      await closed.opened
      decided.open()
      expect(await rig().settled(2)).toEqual(['reject', 'reject'])
      expect(runs).toBe(0)
    },
  )

  it('while the permit that is wanted behind a guard is looked at: what the guard let through is rejected', async () => {
    let runs = 0
    const [asked, closed, read] = [gate(), gate(), gate()]
    const wanted = requirePermit({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: async () => {
        asked.open()
        await read.opened
        return { keys: [] }
      },
      action: 'payment.refund',
      resource: any,
    })
    const app = newApp().get('/', rig().guard(), wanted, (_req, res) => {
      runs += 1
      res.end()
    })
    const { connect, server } = await rig().listen(app)
    server.on('request', (_req, res) => res.once('close', () => closed.open()))
    const socket = await connect()
    socket.write(`GET / HTTP/1.1\r\nHost: app\r\nAuthorization: Bearer ${permit()}\r\n\r\n`)
    await asked.opened
    socket.destroy()
    await closed.opened
    read.open()
    expect(await rig().settled()).toEqual(['reject'])
    expect(runs).toBe(0)
  })

  it.each([
    ['enforce', 0, [], 0],
    ['observe', 1, ['confirm'], 1],
  ] as const)(
    'and before the guard: in the mode %s the handler runs %d times',
    async (mode, count, told, questions) => {
      let runs = 0
      const [waiting, passed] = [gate(), gate()]
      const lookUp: RequestHandler = async (_req, res, next) => {
        res.once('close', () => setImmediate(next))
        waiting.open()
      }
      const guarded = rig().guard({ mode })
      const app = newApp().get(
        '/',
        lookUp,
        (req, res, next) => void guarded(req, res, next).then(() => passed.open()),
        (_req, res) => {
          runs += 1
          res.json({})
        },
      )
      const socket = await (await rig().listen(app)).connect()
      socket.write(get())
      await waiting.opened
      socket.destroy()
      await passed.opened
      expect([runs, rig().questions().length]).toEqual([count, questions])
      expect(await rig().settled(told.length)).toEqual(told)
    },
  )

  it('or has been answered by somebody else: no review is waited for any longer', async () => {
    rig().decide('review')
    const app = newApp()
    app.use((_req, res, next) => {
      void waiting.opened.then(() => res.sendStatus(504))
      next()
    })
    app.get('/', rig().guard({ review: 'wait' }), (_req, res) => void res.end())
    const waiting = gate()
    const { url } = await rig().listen(app)
    const asked = rig().stub.nextRequest()
    const response = fetch(url)
    await asked
    await rig().stub.nextRequest()
    waiting.open()
    expect((await response).status).toBe(504)
    expect(await rig().settled()).toEqual(['reject'])
    expect(rig().lifecycle.waitingCount()).toBe(0)
  })

  it('in the mode observe the handler runs all the same, as without a guard', async () => {
    const ran = gate()
    const app = newApp().get('/', rig().guard({ mode: 'observe' }), (_req, res) => {
      ran.open()
      res.end()
    })
    const { connect, server } = await rig().listen(app)
    const [left, closed] = [gate(), gate()]
    rig().answer('/decisions', (asked, response) => {
      void left.opened.then(() => rig().lifecycle.answer(asked, response))
    })
    server.on('request', (_req, res) => res.once('close', () => closed.open()))
    const asked = rig().stub.nextRequest()
    const socket = await connect()
    socket.write(get())
    await asked
    socket.destroy()
    await closed.opened
    left.open()
    await ran.opened
    expect(await rig().settled()).toEqual(['confirm'])
  })

  it.each([
    ['allows', 'allow', ['reject']],
    ['denies', 'deny', []],
  ] as const)(
    'or after somebody else has answered: nothing runs, and the answer stays whole, when it %s',
    async (_what, effect, told) => {
      rig().decide(effect)
      let runs = 0
      const errors: unknown[] = []
      const noteAll: ErrorRequestHandler = (error, _req, _res, _next) => void errors.push(error)
      const [late, answered] = [gate(), gate()]
      const timeLimit: RequestHandler = (_req, res, next) => {
        void late.opened.then(() => {
          res.status(504).write('too ')
          answered.open()
          void decided.opened.then(() => res.end('late'))
        })
        next()
      }
      const decided = gate()
      const app = newApp()
        .get('/', timeLimit, rig().guard(), (_req, res) => {
          runs += 1
          res.end()
        })
        .use(permitErrors(), noteAll)
      const { url } = await rig().listen(app)
      rig().answer('/decisions', (asked, response) => {
        void answered.opened.then(() => rig().lifecycle.answer(asked, response))
      })
      const asked = rig().stub.nextRequest()
      const response = fetch(url)
      await asked
      late.open()
      while (!rig().events.some(({ type }) => type === 'denied' || type === 'settled')) await new Promise(setImmediate)
      decided.open()
      expect(await (await response).text()).toBe('too late')
      await rig().client.flush()
      expect(
        rig()
          .transitions()
          .map(([transition]) => transition),
      ).toEqual(told)
      expect([runs, errors]).toEqual([0, []])
    },
  )
})

describe('one connection', () => {
  it('with two requests at once has a decision for each, in order', async () => {
    const app = newApp().get('/:which', rig().guard({ resource: (req) => `order:${req.params.which}` }), (req, res) => {
      res.status(req.params.which === '1' ? 200 : 404).send(`answer ${req.params.which};`)
    })
    const { connect } = await rig().listen(app)
    const socket = (await connect()).setEncoding('latin1')
    let text = ''
    const whole = gate()
    socket.on('data', (chunk) => {
      text += chunk
      if (text.includes('answer 2;')) whole.open()
    })
    socket.write(get('/1') + get('/2'))
    await whole.opened
    expect(text.match(/HTTP\/1.1 \d+|answer \d/g)).toEqual(['HTTP/1.1 200', 'answer 1', 'HTTP/1.1 404', 'answer 2'])
    expect([...(await rig().settled(2))].sort()).toEqual(['confirm', 'reject'])
    expect(
      rig()
        .questions()
        .map(({ resource }) => resource),
    ).toEqual(['order:1', 'order:2'])
  })

  it('that is kept has a decision for each request, settled before it ends', async () => {
    const app = newApp().get('/', rig().guard(), (_req, res) => void res.send('x'))
    const { connect } = await rig().listen(app)
    const socket = await connect()
    for (const count of [1, 2]) {
      socket.write(get())
      expect(await rig().settled(count)).toHaveLength(count)
    }
    expect(socket.destroyed).toBe(false)
    expect(rig().questions()).toHaveLength(2)
  })

  it('is upgraded to a WebSocket beside guarded routes', async () => {
    const app = newApp().get('/', rig().guard(), (_req, res) => void res.send('x'))
    const { connect, server } = await rig().listen(app)
    server.on('upgrade', (_req, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    })
    const socket = (await connect()).setEncoding('latin1')
    socket.write('GET / HTTP/1.1\r\nHost: app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    const [first] = await new Promise<string[]>((resolve) =>
      socket.once('data', (...chunks) => resolve(chunks as never)),
    )
    expect(first).toContain('101 Switching Protocols')
    expect(rig().stub.requests).toEqual([])
  })
})

/** Deliveries of webhooks to a real app, over real HTTP. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request as requestOverHttp } from 'node:http'
import type { WebhookEvent } from '@countersign/client/webhook'
import { type WebhookReceiverOptions, webhookReceiver } from '@countersign/express'
import express, { type Express, type RequestHandler } from 'express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gate, useRig } from './rig.js'

const rig = useRig()
const ID = 'evt_01kagx3v5ne8sr6w1y6gqk4t2h'
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 8).toString('base64')}`

interface Delivery {
  readonly body: string
  readonly headers: Record<string, string>
}

interface DeliveryOptions {
  readonly id?: string
  readonly type?: string
  readonly secret?: string
  readonly ageSeconds?: number
  readonly data?: unknown
}

/** As the decision point sends it. */
function delivery({
  id = ID,
  type = 'decision.review_requested',
  secret = SECRET,
  ageSeconds = 0,
  data = { id: 'dec_01kagx3v5ne8sr6w1y6gqk4t2h', reason: 'Überweisung über 500 €' },
}: DeliveryOptions = {}): Delivery {
  const body = JSON.stringify({ type, timestamp: '2026-11-21T10:00:00.000Z', sequence: 1, data })
  const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds)
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
  return { body, headers }
}

type Options = Partial<WebhookReceiverOptions>

interface Receiver {
  readonly url: string
  send(given?: Delivery): Promise<Response>
  /** What handlers got, oldest first. */
  readonly handled: WebhookEvent[]
  /** What the operator got. */
  readonly errors: { error: unknown; event: WebhookEvent | null }[]
}

/** A receiver that handles reviews, behind other middleware. */
async function receiver(options: Options = {}, ...before: readonly RequestHandler[]): Promise<Receiver> {
  const handled: WebhookEvent[] = []
  const errors: Receiver['errors'] = []
  const receive = webhookReceiver({
    secret: SECRET,
    on: { 'decision.review_requested': (event) => void handled.push(event) },
    onError: (error, event) => void errors.push({ error, event }),
    ...options,
  })
  const url = await listen((app) => app.post('/hook', ...before, receive))
  const send = (given: Delivery = delivery()) => fetch(url, { method: 'POST', ...given })
  return { url, send, handled, errors }
}

async function listen(route: (app: Express) => unknown): Promise<string> {
  const app = express().set('env', 'test')
  route(app)
  const { url } = await rig().listen(app)
  return `${url}/hook`
}

const codesOf = (errors: Receiver['errors']) => errors.map(({ error }) => (error as { code?: string }).code)

describe('a delivery', () => {
  it('is answered 204 after its handler has resolved', async () => {
    const begun = gate<WebhookEvent>()
    const done = gate()
    const { send } = await receiver({
      on: {
        'decision.review_requested': async (event) => {
          begun.open(event)
          await done.opened
        },
      },
    })
    let isAnswered = false
    const answer = send().finally(() => {
      isAnswered = true
    })
    const { id, type, data } = await begun.opened
    expect({ id, type, data }).toEqual({
      id: ID,
      type: 'decision.review_requested',
      data: JSON.parse(delivery().body).data,
    })
    expect(isAnswered).toBe(false)
    done.open()
    const { status } = await answer
    expect(status).toBe(204)
  })

  it('goes to the handler of its type, or to the one for all others', async () => {
    const others: string[] = []
    const { send, handled } = await receiver({ otherwise: ({ type }) => void others.push(String(type)) })
    for (const [i, type] of ['key.created', 'decision.review_requested', 'moon.risen', 'constructor'].entries()) {
      expect((await send(delivery({ id: `evt_${i}`, type }))).status).toBe(204)
    }
    expect(others).toEqual(['key.created', 'moon.risen', 'constructor'])
    expect(handled.map(({ type }) => type)).toEqual(['decision.review_requested'])
  })

  it('is answered 204 when nobody wants its type', async () => {
    const { send, handled, errors } = await receiver()
    expect((await send(delivery({ type: 'key.created' }))).status).toBe(204)
    expect([handled, errors]).toEqual([[], []])
  })

  it('may be signed with the old secret or the new one', async () => {
    const { send, handled } = await receiver({ secret: [OTHER_SECRET, SECRET] })
    await send(delivery({ id: 'evt_1' }))
    await send(delivery({ id: 'evt_2', secret: OTHER_SECRET }))
    expect(handled.map(({ id }) => id)).toEqual(['evt_1', 'evt_2'])
  })

  it('may come in pieces that cut its letters', async () => {
    const { url, handled } = await receiver()
    const { body, headers } = delivery()
    const sent = requestOverHttp(url, { method: 'POST', headers })
    const answered = once(sent, 'response')
    for (const byte of Buffer.from(body)) sent.write(Buffer.of(byte))
    sent.end()
    const [answer] = await answered
    expect(answer.statusCode).toBe(204)
    expect(handled).toHaveLength(1)
  })

  it.each([
    ['bytes', express.raw({ type: 'application/json' })],
    ['text', express.text({ type: 'application/json' })],
    ['nothing, as it is of another type', express.urlencoded()],
  ])('may be left by a parser as %s', async (_what, parser) => {
    const { send, handled } = await receiver({}, parser)
    expect((await send()).status).toBe(204)
    expect(handled).toHaveLength(1)
  })

  it.each([
    ['parsed', express.json(), /req\.body was parsed.*before app\.use\(express\.json\(\)\)/],
    [
      'read by others',
      ((req, _res, next) => void req.resume().once('end', next)) as RequestHandler,
      /read by other middleware/,
    ],
    [
      'decoded',
      ((req, _res, next) => next(void req.setEncoding('utf8'))) as RequestHandler,
      /read by other middleware/,
    ],
  ])('that was %s before is an error for the operator', async (_what, parser, message) => {
    const { send, handled, errors } = await receiver({}, parser)
    const answer = await send()
    expect([answer.status, await answer.text()]).toEqual([500, ''])
    expect(handled).toEqual([])
    expect(errors).toEqual([{ error: expect.any(TypeError), event: null }])
    expect(String(errors[0]?.error)).toMatch(message)
  })
})

describe('what does not verify is answered 400 without a reason', () => {
  const good = delivery()
  it.each<[string, Delivery, string]>([
    ['forged', delivery({ secret: OTHER_SECRET }), 'signature_invalid'],
    ['stale', delivery({ ageSeconds: 400 }), 'timestamp_too_old'],
    ['of the future', delivery({ ageSeconds: -400 }), 'timestamp_too_new'],
    ['with another body', { ...good, body: good.body.replace('500', '900') }, 'signature_invalid'],
    ['with another id', { ...good, headers: { ...good.headers, 'webhook-id': 'evt_2' } }, 'signature_invalid'],
    ['without headers', { ...good, headers: {} }, 'header_missing'],
    ['empty', { ...good, body: '' }, 'signature_invalid'],
  ])('%s', async (_what, given, code) => {
    const { send, handled, errors } = await receiver()
    const answer = await send(given)
    expect([answer.status, await answer.text()]).toEqual([400, ''])
    expect(handled).toEqual([])
    expect(codesOf(errors)).toEqual([code])
  })

  it('with a header that was sent twice', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const) {
      const { url, handled, errors } = await receiver()
      const { body, headers } = delivery()
      const sent = requestOverHttp(url, {
        method: 'POST',
        headers: { ...headers, [name]: [headers[name], headers[name]] as string[] },
      })
      const answered = once(sent, 'response')
      sent.end(body)
      const [answer] = await answered
      expect(answer.statusCode).toBe(400)
      expect(handled).toEqual([])
      expect(codesOf(errors)).toEqual(['header_duplicate'])
    }
  })

  it('and a request that is no delivery at all', async () => {
    const url = await listen((app) =>
      app.use('/hook', webhookReceiver({ secret: SECRET, on: {}, onError: () => undefined })),
    )
    expect((await fetch(url)).status).toBe(400)
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(400)
  })
})

describe('a body', () => {
  const withBytes = (bytes: number): Delivery => {
    const { length } = Buffer.from(delivery({ data: { id: '' } }).body)
    return delivery({ data: { id: 'x'.repeat(bytes - length) } })
  }

  it('of 256 KiB is taken', async () => {
    const { send, handled } = await receiver()
    expect((await send(withBytes(256 * 1024))).status).toBe(204)
    expect(handled).toHaveLength(1)
  })

  it('above that is refused, also where its length is not said or a parser took it', async () => {
    const large = withBytes(256 * 1024 + 1)
    const stream = new Blob([large.body]).stream()
    const plain = await receiver()
    expect((await plain.send(large)).status).toBe(413)
    expect(
      (await fetch(plain.url, { method: 'POST', headers: large.headers, body: stream, duplex: 'half' } as RequestInit))
        .status,
    ).toBe(413)
    const parsed = await receiver({}, express.raw({ type: 'application/json', limit: '1mb' }))
    expect((await parsed.send(large)).status).toBe(413)
    expect([...plain.handled, ...parsed.handled]).toEqual([])
    expect([plain.errors.length, parsed.errors.length]).toEqual([2, 1])
  })

  it('whose sender leaves is no delivery, and the next one is', async () => {
    const told = gate<unknown>()
    const { url, send, handled } = await receiver({ onError: (error) => told.open(error) })
    const sent = requestOverHttp(url, { method: 'POST', headers: { ...delivery().headers, 'content-length': '100' } })
    sent.on('error', () => undefined)
    sent.write('{', () => sent.destroy())
    expect(await told.opened).toBeInstanceOf(Error)
    expect(handled).toEqual([])
    expect((await send()).status).toBe(204)
  })

  it.each<[string, RequestHandler]>([
    ['before', (req, _res, next) => void req.once('close', () => next()).destroy()],
    ['meanwhile', (req, _res, next) => next() ?? req.destroy()],
  ])('that other middleware ends %s is no delivery', async (_when, ending) => {
    const told = gate<unknown>()
    const { send } = await receiver({ onError: (error) => told.open(error) }, ending)
    await expect(send()).rejects.toThrow()
    expect(String(await told.opened)).toContain('the connection ended before the body did')
  })
})

describe('an event', () => {
  it('whose handler fails is answered 500, and is handled when it is sent again', async () => {
    const fault = new Error('the chat is down')
    let runs = 0
    const { send, errors } = await receiver({
      on: {
        'decision.review_requested': async () => {
          runs += 1
          if (runs < 3) throw fault
        },
      },
    })
    const first = await send()
    expect([first.status, await first.text()]).toEqual([500, ''])
    expect((await send()).status).toBe(500)
    expect(errors).toEqual([1, 2].map(() => ({ error: fault, event: expect.objectContaining({ id: ID }) })))
    expect((await send()).status).toBe(204)
    expect((await send()).status).toBe(204)
    expect(runs).toBe(3)
  })

  it('is answered 500 when its handler throws at once', async () => {
    const { send } = await receiver({
      on: {
        'decision.review_requested': () => {
          throw new TypeError('no such thing')
        },
      },
    })
    expect((await send()).status).toBe(500)
  })

  /** Sends the event `count` times at once; its handler ends when the last one has arrived. */
  async function manyAtOnce(count: number, end: () => unknown) {
    const arrived = gate()
    let runs = 0
    let requests = 0
    const handle = async (): Promise<void> => {
      runs += 1
      await arrived.opened
      await end()
    }
    const { send } = await receiver({ on: { 'decision.review_requested': handle } }, (_req, _res, next) => {
      requests += 1
      if (requests === count) arrived.open()
      next()
    })
    const answers = await Promise.all(Array.from({ length: count }, () => send()))
    return { runs, statuses: new Set(answers.map(({ status }) => status)) }
  }

  it('that comes many times at once is handled once', async () => {
    const { runs, statuses } = await manyAtOnce(20, () => undefined)
    expect([runs, [...statuses]]).toEqual([1, [204]])
  })

  it('that comes many times at once, and fails, is answered 500 each time', async () => {
    const { statuses } = await manyAtOnce(20, () => Promise.reject(new Error('the chat is down')))
    expect([...statuses]).toEqual([500])
  })

  it('is another one with another id', async () => {
    const { send, handled } = await receiver()
    await Promise.all(['evt_1', 'evt_2', 'evt_1', 'evt_2'].map((id) => send(delivery({ id }))))
    expect(handled.map(({ id }) => id).sort()).toEqual(['evt_1', 'evt_2'])
  })

  it('is remembered by each receiver for itself', async () => {
    const [one, two] = [await receiver(), await receiver()]
    await one.send()
    await two.send()
    expect([one.handled.length, two.handled.length]).toEqual([1, 1])
  })

  it('is noted after its handler has resolved, for longer than it is sent again', async () => {
    const steps: unknown[] = []
    const { send } = await receiver({
      on: { 'decision.review_requested': () => void steps.push('handled') },
      now: () => Math.floor(Date.now() / 1000) * 1000,
      seen: {
        has: async (id) => steps.push(`has ${id}`) < 0,
        add: (id, untilMs) => steps.push(`add ${id}`, untilMs > Date.now() + 84 * 3_600_000),
      },
    })
    expect((await send()).status).toBe(204)
    expect(steps).toEqual([`has ${ID}`, 'handled', `add ${ID}`, true])
  })

  it('is not handled while it is not known whether it was', async () => {
    const down = new Error('the store is down')
    const { send, handled, errors } = await receiver({
      seen: { has: () => Promise.reject(down), add: () => undefined },
    })
    expect((await send()).status).toBe(500)
    expect(handled).toEqual([])
    expect(errors).toEqual([{ error: down, event: expect.objectContaining({ id: ID }) }])
  })

  it('is answered 204 once it was handled, even if that could not be noted', async () => {
    const down = new Error('the store is down')
    const { send, handled, errors } = await receiver({ seen: { has: () => false, add: () => Promise.reject(down) } })
    expect((await send()).status).toBe(204)
    expect(handled).toHaveLength(1)
    expect(errors).toEqual([{ error: down, event: expect.objectContaining({ id: ID }) }])
  })

  it('is left to what answers in its place', async () => {
    const done = gate()
    const { send } = await receiver({ on: {}, otherwise: () => done.open() }, (_req, res, next) => {
      res.status(503).write('too ')
      next()
      // Behind what the receiver does once its handler has resolved.
      void done.opened.then(() => setImmediate(() => res.end('late')))
    })
    const answer = await send()
    expect([answer.status, await answer.text()]).toEqual([503, 'too late'])
  })
})

it.each([
  () => {
    throw new Error('the log is full')
  },
  () => Promise.reject(new Error('the log is full')),
])('a listener that fails changes nothing', async (onError) => {
  const { send } = await receiver({ onError })
  expect((await send(delivery({ secret: OTHER_SECRET }))).status).toBe(400)
  expect((await send()).status).toBe(204)
})

describe('without onError', () => {
  let warnings: (Error & { code?: string })[] = []
  const hear = (warning: Error): void => void warnings.push(warning)
  beforeEach(() => {
    warnings = []
    process.on('warning', hear)
  })
  afterEach(() => void process.off('warning', hear))

  it('the operator is warned of what only the operator can fix', async () => {
    const fault = () => Promise.reject(new Error(`no such chat for ${SECRET}`))
    const { url } = await receiver({ onError: undefined, on: { 'decision.review_requested': fault } })
    const send = (given: Delivery) => fetch(url, { method: 'POST', ...given })
    await send({ ...delivery(), headers: {} })
    expect(warnings).toEqual([])
    await send(delivery({ ageSeconds: 400 }))
    await send(delivery({ secret: OTHER_SECRET }))
    await send(delivery())
    const parsed = await receiver({ onError: undefined }, express.json())
    await parsed.send()
    await expect
      .poll(() => warnings.map(({ code }) => code))
      .toEqual([
        'COUNTERSIGN_CLOCK',
        'COUNTERSIGN_NO_WEBHOOK_VERIFIES',
        'COUNTERSIGN_WEBHOOK_FAILED',
        'COUNTERSIGN_WEBHOOK_BODY_PARSED',
      ])
    const texts = warnings.map(({ message }) => message).join('\n')
    expect(texts).toContain('no such chat for [secret]')
    expect(texts).not.toContain(SECRET)
  })

  it('nobody is warned of forgeries once a delivery has verified', async () => {
    const { send, errors } = await receiver({ onError: undefined })
    await send()
    await send(delivery({ secret: OTHER_SECRET }))
    await send(delivery({ ageSeconds: 400 }))
    expect([warnings, errors]).toEqual([[], []])
  })
})

it.each<[string, object]>([
  ['secret', { secret: undefined }],
  ['secret', { secret: 'whsec_c2hvcnQ=' }],
  ['on', { on: undefined }],
  ["on['decision.denied']", { on: { 'decision.denied': 'log' } }],
  ["on['decision.review-requested']", { on: { 'decision.review-requested': () => undefined } }],
  ['otherwise', { otherwise: 'log' }],
  ['onError', { onError: 'log' }],
  ['seen', { seen: { add: () => true } }],
  ['toleranceSeconds', { toleranceSeconds: Number.POSITIVE_INFINITY }],
  ['now', { now: 5 }],
  ['it is called otherwise', { Otherwise: () => undefined }],
])('an option that is faulty is named at the start: %s', (name, options) => {
  const make = () => webhookReceiver({ secret: SECRET, on: {}, ...options })
  expect(make).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(name) }))
})

/** Deliveries of webhooks: those of the reference implementation of Standard Webhooks, and what anybody else may send. */
import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { drawsOf } from '@countersign/testkit'
import fc from 'fast-check'
import { Webhook as Oracle } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  SeenWebhooks,
  type VerifyWebhookOptions,
  verifyWebhook,
  WEBHOOK_TYPES,
  type WebhookEvent,
  WebhookVerificationError,
  type WebhookVerificationErrorCode,
} from '../src/webhook.js'

const NOW = 1_795_255_205
const ID = 'evt_01kagx3v5ne8sr6w1y6gqk4t2h'
const SECRET = secretOf(Buffer.alloc(32, 7))
const OTHER_SECRET = secretOf(Buffer.alloc(32, 8))
const EVENT = {
  type: 'decision.review_requested',
  timestamp: '2026-11-21T10:00:00.000Z',
  sequence: 1,
  data: { id: 'dec_01kagx3v5ne8sr6w1y6gqk4t2h', reason: 'Überweisung über 500 €' },
} as const
const BODY = JSON.stringify(EVENT)

function secretOf(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString('base64')}`
}

/** As the decision point signs. */
function sign(body: string | Uint8Array, { id = ID, timestamp = String(NOW), secret = SECRET } = {}): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

function headersOf(body: string | Uint8Array = BODY, given: Parameters<typeof sign>[1] = {}): Record<string, string> {
  const { id = ID, timestamp = String(NOW) } = given
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': sign(body, given) }
}

const verify = (options: Partial<VerifyWebhookOptions> = {}): Promise<WebhookEvent> =>
  verifyWebhook({ body: BODY, headers: headersOf(), secret: SECRET, now: () => NOW * 1000, ...options })

/** The code of the refusal, or that there was none. */
async function refusalOf(options: Partial<VerifyWebhookOptions>): Promise<WebhookVerificationErrorCode | 'accepted'> {
  try {
    await verify(options)
    return 'accepted'
  } catch (error) {
    if (WebhookVerificationError.isInstance(error)) return error.code
    throw error
  }
}

const withHeaders = (changed: Record<string, unknown>) =>
  ({ headers: { ...headersOf(), ...changed } }) as Partial<VerifyWebhookOptions>

describe('a delivery', () => {
  it('gives its event', async () => {
    expect(await verify()).toEqual({ id: ID, ...EVENT })
  })

  it('can be bytes, no matter who owns them', async () => {
    const whole = Buffer.from(`before${BODY}after`)
    const part = whole.subarray(6, whole.length - 5)
    expect(await verify({ body: part })).toEqual({ id: ID, ...EVENT })
    expect(await verify({ body: new Uint8Array(Buffer.from(BODY)) })).toEqual({ id: ID, ...EVENT })
  })

  it('is what was checked, whatever becomes of the bytes meanwhile', async () => {
    const body = Buffer.from(BODY)
    const event = verify({ body })
    body.fill(0x20)
    expect(await event).toEqual({ id: ID, ...EVENT })
  })

  it.each([
    ['of Headers', new Headers(headersOf())],
    ['in capitals', { 'Webhook-Id': ID, 'WEBHOOK-TIMESTAMP': String(NOW), 'Webhook-Signature': sign(BODY) }],
    ['among others, which may be lists', { ...headersOf(), 'set-cookie': ['a=1', 'b=2'], host: 'example.com' }],
    ['beside one that is undefined', { ...headersOf(), 'Webhook-Id': undefined }],
  ])('has headers %s', async (_how, headers) => {
    expect(await verify({ headers })).toMatchObject({ id: ID })
  })

  it('is signed with one secret of several', async () => {
    expect(await verify({ secret: [OTHER_SECRET, SECRET] })).toMatchObject({ id: ID })
    expect(await refusalOf({ secret: [OTHER_SECRET] })).toBe('signature_invalid')
  })

  it('has one signature of several that holds', async () => {
    const other = sign(BODY, { secret: OTHER_SECRET })
    const signature = `v1a,${'A'.repeat(88)} ${other} v2,abc ${sign(BODY)}`
    expect(await verify(withHeaders({ 'webhook-signature': signature }))).toMatchObject({ id: ID })
  })

  it.each([24, 64])('is signed with a secret of %i bytes', async (length) => {
    const secret = secretOf(Buffer.alloc(length, 1))
    expect(await verify({ secret, headers: headersOf(BODY, { secret }) })).toMatchObject({ id: ID })
  })

  it('is taken up to the tolerance, either way', async () => {
    for (const seconds of [-300, 0, 300]) {
      expect(await refusalOf({ now: () => (NOW + seconds) * 1000 + 999 })).toBe('accepted')
    }
    expect(await refusalOf({ toleranceSeconds: 0, now: () => NOW * 1000 + 999 })).toBe('accepted')
    expect(await refusalOf({ toleranceSeconds: 0, now: () => (NOW + 1) * 1000 })).toBe('timestamp_too_old')
  })

  it('is checked by the clock of this machine unless another is given', async () => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const headers = headersOf(BODY, { timestamp })
    expect(await verifyWebhook({ body: BODY, headers, secret: SECRET })).toMatchObject({ id: ID })
  })

  it('may be of a type that only a newer server knows', async () => {
    const later = { ...EVENT, type: 'moon.risen', sequence: null, data: [1, 'x'] }
    const body = JSON.stringify(later)
    expect(await verify({ body, headers: headersOf(body) })).toEqual({ id: ID, ...later })
  })

  it('has the data of its type', async () => {
    const event = await verify()
    // What compiles is what is tested here.
    const told = (given: WebhookEvent): string => {
      switch (given.type) {
        case 'decision.review_requested':
          return given.data.review?.expires_at ?? given.data.id
        case 'budget.threshold':
          return `${given.data.threshold satisfies 50 | 80 | 100}`
        case 'policy.updated':
          return `${given.data.revision}`
        case 'webhook.disabled':
          return given.data.disabled?.reason ?? ''
        case 'key.revoked':
          return given.data.scopes.join()
        case 'agent.suspended':
          return given.data.id
        default:
          return String(given.type)
      }
    }
    expect(told(event)).toBe(EVENT.data.id)
    // @ts-expect-error data of no known type is nothing one could read
    const unread = (given: WebhookEvent) => given.data.id
    expect(unread(event)).toBe(EVENT.data.id)
    const isLater = (given: WebhookEvent) => String(given.type) === 'moon.risen' && given.data === null
    expect(isLater(event)).toBe(false)
    expect(WEBHOOK_TYPES).toContain('webhook.test')
  })
})

describe('the reference implementation', () => {
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })
  const deliveries = fc.record({
    secret: fc.uint8Array({ minLength: 24, maxLength: 64 }).map(secretOf),
    id: fc.stringMatching(/^(msg|evt)_[0-9A-Za-z]{1,27}$/),
    skew: fc.integer({ min: -290, max: 290 }),
    body: fc
      .record({
        type: fc.stringMatching(/^[a-z]{1,8}\.[a-z_]{1,12}$/),
        timestamp: fc
          .date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31T00:00:00Z') })
          .map((date) => date.toISOString()),
        sequence: fc.option(fc.integer({ min: 1 })),
        data: json,
      })
      .map((event) => JSON.stringify(event)),
    isBytes: fc.boolean(),
  })
  const count = drawsOf(1000)
  const sample = fc.sample(deliveries, count)

  it(`signs ${count} random deliveries, and every one verifies`, async () => {
    let verified = 0
    for (const { secret, id, skew, body, isBytes } of sample) {
      const sentSeconds = NOW + skew
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(sentSeconds),
        'webhook-signature': new Oracle(secret).sign(id, new Date(sentSeconds * 1000), body),
      }
      const event = await verify({ body: isBytes ? Buffer.from(body) : body, headers, secret })
      expect(event).toEqual({ id, ...JSON.parse(body) })
      verified += 1
    }
    expect(verified).toBe(count)
  })

  it(`verifies ${count} random deliveries that are signed as the decision point does`, async () => {
    const nowSeconds = Math.floor(Date.now() / 1000)
    for (const { secret, id, skew, body } of sample) {
      const headers = headersOf(body, { secret, id, timestamp: String(nowSeconds + skew) })
      expect(new Oracle(secret).verify(body, headers)).toEqual(JSON.parse(body))
      expect(await verifyWebhook({ body, headers, secret })).toMatchObject({ id })
    }
  })

  it('refuses as verifyWebhook does once a byte is changed', async () => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    for (const { secret, id, body } of sample.slice(0, 100)) {
      const headers = headersOf(body, { secret, id, timestamp })
      const bytes = Buffer.from(body)
      const at = bytes.length >> 1
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(() => new Oracle(secret).verify(bytes, headers)).toThrow(/No matching signature/)
      expect(await refusalOf({ body: bytes, headers, secret, now: Date.now })).toBe('signature_invalid')
    }
  })
})

/** The same bytes as base64 that no encoder writes. */
function rewritten(signature: string): string {
  const text = signature.slice(0, -2)
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const other = `${text}${last[last.indexOf(signature.at(-2) ?? '') + 1]}=`
  expect(Buffer.from(other.slice(3), 'base64')).toEqual(Buffer.from(signature.slice(3), 'base64'))
  return other
}

/** With a byte in place of each question mark that no text in UTF-8 has. */
function brokenUtf8(text: string): Uint8Array {
  return Buffer.from(text).map((byte) => (byte === '?'.charCodeAt(0) ? 0xff : byte))
}

describe('a delivery is refused', () => {
  const late = String(NOW - 301)
  const early = String(NOW + 301)
  const whole = sign(BODY)
  const duplicate = new Headers(headersOf())
  duplicate.append('webhook-signature', whole)

  it.each<[string, Partial<VerifyWebhookOptions>, WebhookVerificationErrorCode]>([
    ['forged with another secret', { headers: headersOf(BODY, { secret: OTHER_SECRET }) }, 'signature_invalid'],
    ['sent too long ago', { headers: headersOf(BODY, { timestamp: late }) }, 'timestamp_too_old'],
    ['sent in the future', { headers: headersOf(BODY, { timestamp: early }) }, 'timestamp_too_new'],
    ['with a new timestamp', withHeaders({ 'webhook-timestamp': String(NOW + 1) }), 'signature_invalid'],
    ['with another id', withHeaders({ 'webhook-id': `${ID}x` }), 'signature_invalid'],
    ['with another body', { body: BODY.replace('500', '900') }, 'signature_invalid'],
    ['with a body written again', { body: JSON.stringify(JSON.parse(BODY), null, 1) }, 'signature_invalid'],
    ['with an empty body', { body: '' }, 'signature_invalid'],
    ['with a mark before the body', { body: `\ufeff${BODY}` }, 'signature_invalid'],
    ['with a truncated signature', withHeaders({ 'webhook-signature': whole.slice(0, -4) }), 'signature_invalid'],
    ['with a signature longer', withHeaders({ 'webhook-signature': `${whole}AAAA` }), 'signature_invalid'],
    ['without padding', withHeaders({ 'webhook-signature': whole.slice(0, -1) }), 'signature_invalid'],
    ['with v1a alone', withHeaders({ 'webhook-signature': whole.replace('v1', 'v1a') }), 'signature_invalid'],
    ['with V1 alone', withHeaders({ 'webhook-signature': whole.replace('v1', 'V1') }), 'signature_invalid'],
    // It stands for the same bytes: the last character has two bits that count for nothing.
    [
      'with a signature in another writing',
      withHeaders({ 'webhook-signature': rewritten(whole) }),
      'signature_invalid',
    ],
    ['without a scheme', withHeaders({ 'webhook-signature': whole.slice(3) }), 'signature_invalid'],
    ['with an empty v1', withHeaders({ 'webhook-signature': 'v1,' }), 'signature_invalid'],
    ['with a space for a signature', withHeaders({ 'webhook-signature': ' ' }), 'signature_invalid'],
    ['with an empty signature', withHeaders({ 'webhook-signature': '' }), 'header_missing'],
    [
      'with more signatures than anybody needs',
      withHeaders({ 'webhook-signature': `${whole} `.repeat(17).trim() }),
      'signature_invalid',
    ],
    ['without an id', withHeaders({ 'webhook-id': undefined }), 'header_missing'],
    ['without a timestamp', withHeaders({ 'webhook-timestamp': undefined }), 'header_missing'],
    ['without a signature', withHeaders({ 'webhook-signature': undefined }), 'header_missing'],
    ['without headers', { headers: {} }, 'header_missing'],
    ['without Headers', { headers: new Headers() }, 'header_missing'],
    ['with a number for a timestamp', withHeaders({ 'webhook-timestamp': NOW }), 'header_missing'],
    ['with a header in two cases', withHeaders({ 'Webhook-Id': ID }), 'header_duplicate'],
    ['with a list for a header', withHeaders({ 'webhook-id': [ID] }), 'header_duplicate'],
    ['with two signatures of Headers', { headers: duplicate }, 'header_duplicate'],
    ['with two ids as Node joins them', withHeaders({ 'webhook-id': `${ID}, ${ID}` }), 'header_duplicate'],
    [
      'with two signatures as Node joins them',
      withHeaders({ 'webhook-signature': `v1,x, ${whole}` }),
      'header_duplicate',
    ],
    [
      'with a dot in its id, which moves what is signed',
      { headers: headersOf(BODY, { id: 'evt.1795255205' }) },
      'id_invalid',
    ],
    ['with a long id', { headers: headersOf(BODY, { id: 'e'.repeat(129) }) }, 'id_invalid'],
  ])('%s', async (_how, options, code) => {
    expect(await refusalOf(options)).toBe(code)
  })

  it.each([
    `${NOW}.0`,
    ` ${NOW}`,
    `${NOW} `,
    `+${NOW}`,
    `-${NOW}`,
    `${NOW}abc`,
    `0${NOW}`,
    `0x${NOW.toString(16)}`,
    `${NOW}\n`,
    '1e9',
    '１７９５２５５２０５',
    new Date(NOW * 1000).toISOString(),
    '9'.repeat(400),
  ])('with the timestamp %j, although it is signed', async (timestamp) => {
    expect(await refusalOf({ headers: headersOf(BODY, { timestamp }) })).toBe('timestamp_invalid')
  })

  it.each<[string, string | Uint8Array]>([
    ['no JSON', '{'],
    ['a mark and JSON', `\ufeff${BODY}`],
    ['an event apart from one byte that is no UTF-8', brokenUtf8(JSON.stringify({ ...EVENT, data: { id: '?' } }))],
    ['a list', '[]'],
    ['null', 'null'],
    ['without type', JSON.stringify({ ...EVENT, type: undefined })],
    ['with an empty type', JSON.stringify({ ...EVENT, type: '' })],
    ['without timestamp', JSON.stringify({ ...EVENT, timestamp: undefined })],
    ['with no time', JSON.stringify({ ...EVENT, timestamp: '2026-13-41T10:00:00.000Z' })],
    ['without sequence', JSON.stringify({ ...EVENT, sequence: undefined })],
    ['with half a sequence', JSON.stringify({ ...EVENT, sequence: 1.5 })],
    ['without data', JSON.stringify({ ...EVENT, data: undefined })],
    ['with data that is no object', JSON.stringify({ ...EVENT, data: 'x' })],
    ['with another member', JSON.stringify({ ...EVENT, id: ID })],
  ])('that is signed and not an event: %s', async (_what, body) => {
    expect(await refusalOf({ body, headers: headersOf(body) })).toBe('body_invalid')
  })

  it('in words that can stand in a log', async () => {
    const body = JSON.stringify({ ...EVENT, 'a\nERROR: all is well': 1 })
    const error = await verify({ body, headers: headersOf(body) }).catch((reason) => reason)
    expect(error.message.split('\n')).toHaveLength(1)
    expect(error.name).toBe('WebhookVerificationError')
  })
})

describe('a mistake of the program', () => {
  it.each<[string, unknown]>([
    ['a parsed body', JSON.parse(BODY)],
    ['no body', undefined],
    ['a list of bytes', [...Buffer.from(BODY)]],
    ['an ArrayBuffer', new ArrayBuffer(8)],
  ])('is %s: the error says why', async (_what, body) => {
    const error = await verify({ body: body as string }).catch((reason) => reason)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toMatch(/exact text of the request.*before any parser/)
    expect(WebhookVerificationError.isInstance(error)).toBe(false)
  })

  it.each<[string, unknown]>([
    ['short', secretOf(Buffer.alloc(23, 7))],
    ['long', secretOf(Buffer.alloc(65, 7))],
    ['empty', 'whsec_'],
    ['without its prefix', SECRET.slice('whsec_'.length)],
    ['of another kind', SECRET.replace('whsec_', 'whpk_')],
    ['cut off', SECRET.slice(0, -1)],
    ['with a line break', `${SECRET}\n`],
    ['in the base64 of URLs', `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`],
    ['absent', undefined],
    ['a list of none', []],
    ['one of several that is short', [SECRET, 'whsec_c2hvcnQ=']],
  ])('is a secret that is %s, and the error does not show it', async (_what, secret) => {
    const error = await verify({ secret: secret as string }).catch((reason) => reason)
    expect(error).toBeInstanceOf(TypeError)
    for (const one of [secret].flat()) {
      const shown = typeof one === 'string' && one.slice('whsec_'.length)
      if (shown) expect(error.message).not.toContain(shown)
    }
  })

  it.each([
    ['toleranceSeconds', { toleranceSeconds: Number.POSITIVE_INFINITY }],
    ['toleranceSeconds', { toleranceSeconds: Number.NaN }],
    ['toleranceSeconds', { toleranceSeconds: -1 }],
    ['now', { now: () => Number.NaN }],
    ['now', { now: NOW as never }],
    ['headers', { headers: undefined as never }],
    ['headers', { headers: Object.entries(headersOf()) as never }],
    ['seen', { seen: {} as never }],
    ['it is called toleranceSeconds', { tolerance_seconds: 5 } as never],
  ])('is an option: %s', async (name, options) => {
    await expect(verify(options)).rejects.toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(name) }),
    )
  })
})

describe('the memory of deliveries', () => {
  it('refuses a delivery that is replayed', async () => {
    const seen = new SeenWebhooks({ now: () => NOW * 1000 })
    expect(await refusalOf({ seen })).toBe('accepted')
    expect(await refusalOf({ seen })).toBe('replayed')
    // Sent again by the server, with a new signature: still the same event.
    expect(await refusalOf({ seen, headers: headersOf(BODY, { timestamp: String(NOW + 5) }) })).toBe('replayed')
    expect(await refusalOf({ seen, headers: headersOf(BODY, { id: `${ID}2` }) })).toBe('accepted')
  })

  it('is not told of what does not verify', async () => {
    const seen = new SeenWebhooks()
    await refusalOf({ seen, headers: headersOf(BODY, { secret: OTHER_SECRET }) })
    await refusalOf({ seen, body: 'x', headers: headersOf('x') })
    expect(seen.size).toBe(0)
  })

  it('keeps an id for as long as its timestamp is taken', async () => {
    const until: number[] = []
    await verify({ seen: { add: (_id, untilMs) => until.push(untilMs) > 0 } })
    const [untilMs = 0] = until
    expect(await refusalOf({ now: () => untilMs - 1 })).toBe('accepted')
    expect(await refusalOf({ now: () => untilMs })).toBe('timestamp_too_old')
  })

  it('lets one of many deliveries at once pass', async () => {
    const seen = new SeenWebhooks({ now: () => NOW * 1000 })
    const codes = await Promise.all(Array.from({ length: 50 }, () => refusalOf({ seen })))
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(1)
  })

  it('may be elsewhere, and refuses when it cannot tell', async () => {
    const down = new Error('the store is down')
    expect(await refusalOf({ seen: { add: async () => true } })).toBe('accepted')
    expect(await refusalOf({ seen: { add: async () => 1 as never } })).toBe('replayed')
    const error = await verify({ seen: { add: () => Promise.reject(down) } }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'replay_check_failed', cause: down })
  })

  it('forgets what is over', () => {
    let nowMs = 1000
    const seen = new SeenWebhooks({ now: () => nowMs })
    expect(seen.add('a', 2000)).toBe(true)
    expect(seen.add('a', 9000)).toBe(false)
    nowMs = 2000
    expect(seen.has('a')).toBe(false)
    expect(seen.add('b', 9000)).toBe(true)
    expect(seen.size).toBe(1)
    expect(seen.add('a', 9000)).toBe(true)
    expect(seen.add('b', 9000)).toBe(false)
  })

  it('is bounded: the oldest makes room', () => {
    const seen = new SeenWebhooks({ max: 100, now: () => 0 })
    for (let i = 0; i < 1000; i += 1) expect(seen.add(`evt_${i}`, 1000)).toBe(true)
    expect(seen.size).toBe(100)
    expect(seen.has('evt_899')).toBe(false)
    expect(seen.add('evt_900', 1000)).toBe(false)
    expect(() => new SeenWebhooks({ max: 0 })).toThrow(/max/)
  })

  it('drops no other id for one that it holds from before', () => {
    let nowMs = 0
    const seen = new SeenWebhooks({ max: 2, now: () => nowMs })
    seen.add('long', 5000)
    seen.add('short', 1000)
    nowMs = 1000
    expect(seen.add('short', 5000)).toBe(true)
    expect(seen.has('long')).toBe(true)
  })
})

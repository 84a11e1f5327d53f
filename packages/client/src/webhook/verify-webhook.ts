import { WebhookVerificationError } from '../errors/webhook-verification-error.js'
import { assertOptions } from '../known-options.js'
import { ownMembers } from '../own-members.js'
import { readEvent } from './envelope.js'
import type { WebhookMemory } from './seen-webhooks.js'
import { isSigned, readSecrets, v1SignaturesIn } from './signature.js'
import { readSignedHeaders, type WebhookHeaders } from './signed-headers.js'
import type { WebhookEvent } from './webhook-event.js'

/** A delivery as it came, and what it is checked by. */
export interface VerifyWebhookOptions {
  /** The exact bytes that came, or their text. Never what a JSON parser made of them. */
  readonly body: Uint8Array | string
  readonly headers: WebhookHeaders
  /** The secret of the webhook, `whsec_…`; several while it is being rotated. */
  readonly secret: string | readonly string[]
  /** How far the time of sending may be from now, either way. Default 300, at most 3,600. */
  readonly toleranceSeconds?: number | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
  /**
   * Refuses a delivery whose id it knows (`replayed`). The server sends an event again, with the same id, until it gets a 2xx: so
   * answer 2xx for `replayed`, or mark ids yourself once the event is handled.
   */
  readonly seen?: WebhookMemory | undefined
}

const KNOWN_OPTIONS = [
  'body',
  'headers',
  'secret',
  'toleranceSeconds',
  'now',
  'seen',
] as const satisfies readonly (keyof VerifyWebhookOptions)[]
const MAX_TOLERANCE_SECONDS = 3_600

/**
 * Checks a delivery of a webhook, and resolves with its event. The signature is checked over the bytes, before anything reads them
 * as JSON. Nothing else is asked: no server, no clock but `now`.
 *
 * @throws WebhookVerificationError whose `code` names the check that failed
 * @throws TypeError naming the faulty option: it shows neither a secret nor the body
 *
 * @example
 * const event = await verifyWebhook({ body: await request.text(), headers: request.headers, secret })
 * if (event.type === 'decision.review_requested') await notify(event.data.id)
 *
 * Source: docs/sdk.md "Receive webhooks".
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  assertOptions('verifyWebhook', options, KNOWN_OPTIONS)
  const { body, headers, seen, ...checkedBy } = ownMembers(options)
  const bytes = bytesOfBody(body)
  const { secrets, toleranceSeconds, now } = readWebhookChecks(checkedBy)
  const nowSeconds = Math.floor(readClock(now) / 1000)
  if (seen !== undefined && typeof seen?.add !== 'function') throw new TypeError('seen has to have a function add')

  const { id, timestamp, signature } = readSignedHeaders(headers)
  const sentSeconds = Number(timestamp)
  checkTime(sentSeconds, nowSeconds, toleranceSeconds)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.`)
  // A copy: what is parsed is what was checked, whatever the caller does to its own bytes meanwhile.
  const message = new Uint8Array(signed.length + bytes.length)
  message.set(signed)
  message.set(bytes, signed.length)
  if (!(await isSigned(message, v1SignaturesIn(signature), secrets))) {
    throw new WebhookVerificationError(
      'signature_invalid',
      'No v1 signature fits the id, the timestamp, the body and a secret. Give the secret of this webhook, and the body exactly as it came.',
    )
  }
  const event = readEvent(id, message.subarray(signed.length))
  // Until its timestamp refuses it.
  if (seen !== undefined) await note(seen, id, (sentSeconds + toleranceSeconds + 1) * 1000)
  return event
}

/** @throws TypeError for anything but bytes and text */
function bytesOfBody(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  // Not by instanceof, which fails for an array of another realm.
  if (Object.prototype.toString.call(body) === '[object Uint8Array]') return body as Uint8Array
  const what = body === undefined || body === null ? 'it is missing' : 'this is something else'
  throw new TypeError(
    `body has to be the bytes or the exact text of the request, and ${what}. The signature is about those bytes: what a JSON parser made of them cannot be checked, as writing it again gives other bytes. Read the body before any parser`,
  )
}

/** What every delivery of a webhook is checked by. */
export interface WebhookChecks {
  readonly secrets: readonly Uint8Array<ArrayBuffer>[]
  readonly toleranceSeconds: number
  readonly now: () => number
}

/**
 * For integrations, which read their options before there is a delivery.
 *
 * @throws TypeError naming the faulty option
 */
export function readWebhookChecks({
  secret,
  toleranceSeconds = 300,
  now = Date.now,
}: Pick<VerifyWebhookOptions, 'secret' | 'toleranceSeconds' | 'now'>): WebhookChecks {
  const secrets = readSecrets(secret)
  if (!Number.isInteger(toleranceSeconds) || toleranceSeconds < 0 || toleranceSeconds > MAX_TOLERANCE_SECONDS) {
    throw new TypeError(`toleranceSeconds has to be a whole number from 0 to ${MAX_TOLERANCE_SECONDS}`)
  }
  if (typeof now !== 'function') throw new TypeError('now has to be a function')
  return { secrets, toleranceSeconds, now }
}

/** @throws TypeError */
function readClock(now: () => number): number {
  const nowMs: unknown = now()
  if (typeof nowMs === 'number' && Number.isFinite(nowMs)) return nowMs
  throw new TypeError('now has to give milliseconds since 1970')
}

function checkTime(sentSeconds: number, nowSeconds: number, toleranceSeconds: number): void {
  const ageSeconds = nowSeconds - sentSeconds
  if (Math.abs(ageSeconds) <= toleranceSeconds) return
  const [code, direction] =
    ageSeconds > 0 ? (['timestamp_too_old', 'ago'] as const) : (['timestamp_too_new', 'ahead'] as const)
  throw new WebhookVerificationError(
    code,
    `It was sent ${Math.abs(ageSeconds)} s ${direction} by the clock of this machine; ${toleranceSeconds} s are allowed.`,
  )
}

async function note(seen: WebhookMemory, id: string, untilMs: number): Promise<void> {
  let isFirst: unknown
  try {
    isFirst = await seen.add(id, untilMs)
  } catch (cause) {
    const message = 'It is not known whether the delivery was seen before.'
    throw new WebhookVerificationError('replay_check_failed', message, { cause })
  }
  if (isFirst !== true) throw new WebhookVerificationError('replayed', 'The delivery was seen before.')
}

import { WebhookVerificationError } from '../errors/webhook-verification-error.js'
import { knownOptions } from '../known-options.js'
import { readEvent } from './envelope.js'
import type { WebhookMemory } from './seen-webhooks.js'
import { isSigned, readSecrets, v1SignaturesIn } from './signature.js'
import { readSignedHeaders, type WebhookHeaders } from './signed-headers.js'
import type { WebhookEvent } from './webhook-event.js'

/** A delivery as it arrived, and how to verify it. */
export interface VerifyWebhookOptions {
  /** The exact bytes that arrived, or their text. Never the result of a JSON parser. */
  readonly body: Uint8Array | string
  readonly headers: WebhookHeaders
  /** The secret of the webhook, `whsec_…`; several while it is being rotated. */
  readonly secret: string | readonly string[]
  /** How far the time of sending may be from now, either way. Default 300, at most 3,600. */
  readonly toleranceSeconds?: number | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
  /**
   * Refuses a delivery whose id it knows (`replayed`). The server sends an event again, with the same id, until it gets
   * a 2xx. So answer `replayed` with 2xx, or record ids yourself once the event is handled.
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
 * Verifies a delivery of a webhook, and resolves with its event. The signature is checked over the bytes, before
 * anything parses them as JSON. Contacts no server, and uses no clock but `now`.
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
  const { body, headers, seen, ...checkedBy } = knownOptions('verifyWebhook', options, KNOWN_OPTIONS)
  const bytes = bytesOfBody(body)
  const { secrets, toleranceSeconds, now } = readWebhookChecks(checkedBy)
  const nowSeconds = Math.floor(readClock(now) / 1000)
  if (seen !== undefined && typeof seen?.add !== 'function') throw new TypeError('seen must have a function add')

  const { id, timestamp, signature } = readSignedHeaders(headers)
  const sentSeconds = Number(timestamp)
  checkTime(sentSeconds, nowSeconds, toleranceSeconds)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.`)
  // A copy, so that the parsed bytes are the verified ones even if the caller changes its own.
  const message = new Uint8Array(signed.length + bytes.length)
  message.set(signed)
  message.set(bytes, signed.length)
  if (!(await isSigned(message, v1SignaturesIn(signature), secrets))) {
    throw new WebhookVerificationError(
      'signature_invalid',
      'No v1 signature fits the id, the timestamp, the body and a secret. Give the secret of this webhook, and the body exactly as received.',
    )
  }
  const event = readEvent(id, message.subarray(signed.length))
  // Remembered until the timestamp check refuses the delivery.
  if (seen !== undefined) await note(seen, id, (sentSeconds + toleranceSeconds + 1) * 1000)
  return event
}

/** @throws TypeError for anything but bytes and text */
function bytesOfBody(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  // `instanceof` would fail for an array of another realm.
  if (Object.prototype.toString.call(body) === '[object Uint8Array]') return body as Uint8Array
  const what = body === undefined || body === null ? 'it is missing' : 'this is something else'
  throw new TypeError(
    `body must be the bytes or the exact text of the request, and ${what}. The signature covers those bytes: a parsed body cannot be checked, because serializing it again gives other bytes. Read the body before any parser`,
  )
}

/** The settings that verify every delivery of a webhook. */
export interface WebhookChecks {
  readonly secrets: readonly Uint8Array<ArrayBuffer>[]
  readonly toleranceSeconds: number
  readonly now: () => number
}

/**
 * For integrations, which read their options before a delivery arrives.
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
    throw new TypeError(`toleranceSeconds must be a whole number from 0 to ${MAX_TOLERANCE_SECONDS}`)
  }
  if (typeof now !== 'function') throw new TypeError('now must be a function')
  return { secrets, toleranceSeconds, now }
}

/** @throws TypeError */
function readClock(now: () => number): number {
  const nowMs: unknown = now()
  if (typeof nowMs === 'number' && Number.isFinite(nowMs)) return nowMs
  throw new TypeError('now must return milliseconds since 1970')
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

import { WebhookVerificationError } from '../errors/webhook-verification-error.js'
import { isKnownType, type WebhookEvent } from './webhook-event.js'

const MEMBERS = ['data', 'sequence', 'timestamp', 'type']
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/**
 * Reads the event in a body whose signature was verified.
 *
 * @throws WebhookVerificationError for a body that is not an event
 */
export function readEvent(id: string, body: Uint8Array): WebhookEvent {
  const { type, timestamp, sequence, data, ...others } = parsedObject(body)
  const [stranger] = Object.keys(others)
  if (stranger !== undefined) throw invalid(`${stranger} is not a member of an event`)
  if (typeof type !== 'string' || type === '') throw invalid('type must be a text')
  if (typeof timestamp !== 'string' || !TIMESTAMP.test(timestamp) || Number.isNaN(Date.parse(timestamp))) {
    throw invalid('timestamp must be a time')
  }
  if (sequence !== null && !(Number.isSafeInteger(sequence) && (sequence as number) > 0)) {
    throw invalid('sequence must be null or a whole number above 0')
  }
  if (data === undefined) throw invalid('data is missing')
  if (isKnownType(type) && !isObject(data)) throw invalid('data must be an object')
  // The decision point itself signed this, so `data` has the members of its type.
  return { id, type, timestamp, sequence, data } as WebhookEvent
}

function parsedObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    throw invalid('it is not JSON in UTF-8')
  }
  if (!isObject(parsed)) throw invalid(`it must be an object of ${MEMBERS.join(', ')}`)
  return parsed
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(why: string): WebhookVerificationError {
  return new WebhookVerificationError('body_invalid', `The body is signed, but it is not an event: ${why}.`)
}

/**
 * Ids of a server's requests that few clients return unchanged: 9007199254740993, 1.0, 1.5, null. The client receives a string
 * instead, and the server receives its own id with its digits.
 */
import { parseJson, textOfJson } from '../json/exact-json.js'
import { ExactNumber } from '../json/exact-number.js'
import { isObject, isRequestId } from './json-rpc.js'

/** Followed by the JSON text of the id. */
const PREFIX = 'countersign:id:'

/** A message of the server, with an id for the client. */
export function withRelayedId(message: unknown): unknown {
  if (!isObject(message) || typeof message.method !== 'string') return message
  if ('id' in message) return withId(message, relayedId(message.id))
  const { params } = message
  if (message.method !== 'notifications/cancelled' || !isObject(params) || !('requestId' in params)) return message
  const requestId = relayedId(params.requestId)
  return requestId === params.requestId ? message : { ...message, params: { ...params, requestId } }
}

/** A response of the client, with the id that the server sent. */
export function withGivenId<Message extends { readonly id?: unknown }>(message: Message): Message {
  return 'id' in message ? withId(message, givenId(message.id)) : message
}

function withId<Message extends { readonly id?: unknown }>(message: Message, id: unknown): Message {
  return id === message.id ? message : { ...message, id }
}

function relayedId(id: unknown): unknown {
  const isOdd = typeof id === 'string' ? id.startsWith(PREFIX) : !isRequestId(id)
  return isOdd && isId(id) ? `${PREFIX}${textOfJson(id)}` : id
}

function givenId(id: unknown): unknown {
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return id
  try {
    const given = parseJson(id.slice(PREFIX.length))
    return isId(given) ? given : id
  } catch {
    return id
  }
}

function isId(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber
}

/**
 * Strict reading of JSON-RPC 2.0 messages. A forwarded message is rebuilt from the known members, so the receiver cannot read it
 * differently from the gate.
 */
import { ExactNumber, isSafeNumber } from '../json/exact-number.js'
import { folded, isLookAlike } from '../rules/methods.js'

export type RequestId = string | number
/** The id of an answer. It may be one that no request may have here. */
export type AnsweredId = RequestId | ExactNumber | null

/** A message of either side, after reading. */
export type Incoming =
  | { readonly kind: 'request'; readonly message: RequestMessage }
  | { readonly kind: 'notification'; readonly message: NotificationMessage }
  | { readonly kind: 'response'; readonly message: ResponseMessage }
  | InvalidMessage

interface InvalidMessage {
  readonly kind: 'invalid'
  readonly error: ProtocolError
  /** The id for an error about the message. */
  readonly id: AnsweredId | undefined
}

export interface NotificationMessage {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: unknown
}

export interface RequestMessage extends NotificationMessage {
  readonly id: RequestId
}

/** An error may have a null or missing `id`: its request is then unknown. */
export interface ResponseMessage {
  readonly jsonrpc: '2.0'
  readonly id?: AnsweredId
  readonly result?: unknown
  readonly error?: unknown
}

export type JsonRpcMessage = RequestMessage | NotificationMessage | ResponseMessage

export interface ProtocolError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** The code of both SDKs for a lost connection. Our HTTP proxy also uses it for a server that does not answer. */
export const CONNECTION_CLOSED = -32000

export function readMessage(value: unknown): Incoming {
  if (!isObject(value)) return invalid('a message must be an object', null)
  const { jsonrpc, method, params, result, error, ...others } = { ...value }
  const id = idOf(others.id)
  const known = isAnswerable(id) ? id : null
  if (jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"', known)
  if (method === undefined) return readResponse(id, result, error)
  if (typeof method !== 'string') return invalid('method must be a string', known)
  if (isLookAlike(method))
    return { kind: 'invalid', error: { code: METHOD_NOT_FOUND, message: 'Method not found' }, id: known ?? undefined }
  const said = { method, ...(params !== undefined && { params }) }
  if (id === undefined) return { kind: 'notification', message: { jsonrpc: '2.0', ...said } }
  if (!isRequestId(id)) return invalid('id must be a string or an integer', known)
  return { kind: 'request', message: { jsonrpc: '2.0', id, ...said } }
}

function readResponse(id: unknown, result: unknown, error: unknown): Incoming {
  const jsonrpc = '2.0'
  if (error !== undefined && result === undefined && (id === undefined || id === null || isRequestId(id)))
    return { kind: 'response', message: { jsonrpc, ...(id !== undefined && { id }), error } }
  if (result !== undefined && error === undefined && isRequestId(id))
    return { kind: 'response', message: { jsonrpc, id, result } }
  return invalid('a message must be a request, a notification or a response', isRequestId(id) ? id : undefined)
}

/** Whether the sender expects an answer, even if this is not a valid request. */
export function asksForAnswer(message: unknown): boolean {
  return isObject(message) && 'method' in message && message.id !== undefined
}

/** Normalizes an integer that a double can hold, in any spelling. */
function idOf(id: unknown): unknown {
  return id instanceof ExactNumber && isSafeNumber(id) && isRequestId(id.valueOf()) ? id.valueOf() : id
}

/** Whether an error can name this id. A double may be the rounded form of another number, and then cannot. */
export function isAnswerable(id: unknown): id is AnsweredId {
  return id === null || isRequestId(id) || (id instanceof ExactNumber && !isSafeNumber(id))
}

/** JavaScript cannot forward larger integers unchanged. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

export function errorMessage(id: AnsweredId, error: ProtocolError): ResponseMessage {
  return { jsonrpc: '2.0', id, error }
}

/** In messages. */
export const MAX_BATCH = 100

export function isBatch(messages: readonly unknown[]): boolean {
  return messages.length > 0 && messages.length <= MAX_BATCH && !messages.some(Array.isArray)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/**
 * A member whose name differs only in case from one of `known`, or from another member. Programs in Go ignore case, and take the last
 * such member.
 */
export function ambiguousMember(value: object, known: readonly string[] = []): string | undefined {
  const names = new Map(known.map((name) => [folded(name), name]))
  for (const name of Object.keys(value)) {
    const before = names.get(folded(name))
    if (before !== undefined && before !== name) return name
    names.set(folded(name), name)
  }
  return undefined
}

/** The same at every depth. @throws RangeError for a value that is nested too deeply */
export function ambiguousMemberWithin(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) {
    const name = ambiguousMember(value)
    if (name !== undefined) return name
  }
  for (const member of Object.values(value)) {
    const name = ambiguousMemberWithin(member)
    if (name !== undefined) return name
  }
  return undefined
}

function invalid(message: string, id: AnsweredId | undefined): Incoming {
  return { kind: 'invalid', error: { code: INVALID_REQUEST, message: `Invalid Request: ${message}` }, id }
}

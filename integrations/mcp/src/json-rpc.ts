/**
 * Strict reading of JSON-RPC 2.0 messages between two programs. A forwarded message is rebuilt from the known members, so the receiver
 * cannot read it differently than the gate did.
 */

export type RequestId = string | number

/** A message of either side, once it is read. */
export type Incoming =
  | { readonly kind: 'request'; readonly message: RequestMessage }
  | { readonly kind: 'notification'; readonly message: NotificationMessage }
  | { readonly kind: 'response'; readonly message: ResponseMessage }
  | { readonly kind: 'invalid'; readonly error: ProtocolError; readonly id: RequestId | null | undefined }

export interface RequestMessage {
  readonly jsonrpc: '2.0'
  readonly id: RequestId
  readonly method: string
  readonly params?: unknown
}

export interface NotificationMessage {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: unknown
}

/** An error may have a null or missing `id`: its request is then unknown. */
export interface ResponseMessage {
  readonly jsonrpc: '2.0'
  readonly id?: RequestId | null
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
/** As both SDKs call a connection that is gone, and what a server of ours has no room for. */
export const CONNECTION_CLOSED = -32000

/** Methods that may not hide behind another spelling. */
const GUARDED_METHODS = ['tools/call', 'tools/list', 'notifications/cancelled']

export function readMessage(value: unknown): Incoming {
  if (!isObject(value)) return invalid('a message has to be an object', null)
  const { jsonrpc, id, method, params, result, error } = { ...value }
  const known = isRequestId(id) ? id : null
  if (jsonrpc !== '2.0') return invalid('jsonrpc has to be "2.0"', known)
  if (method === undefined) return readResponse(id, result, error)
  if (typeof method !== 'string') return invalid('method has to be a string', known)
  const meant = folded(method).replaceAll(/[\p{C}\p{Z}]/gu, '')
  if (GUARDED_METHODS.includes(meant) && meant !== method)
    return { kind: 'invalid', error: { code: METHOD_NOT_FOUND, message: 'Method not found' }, id: known ?? undefined }
  const said = { method, ...(params !== undefined && { params }) }
  if (id === undefined) return { kind: 'notification', message: { jsonrpc: '2.0', ...said } }
  if (!isRequestId(id)) return invalid('id has to be a string or an integer', null)
  return { kind: 'request', message: { jsonrpc: '2.0', id, ...said } }
}

function readResponse(id: unknown, result: unknown, error: unknown): Incoming {
  const jsonrpc = '2.0'
  if (error !== undefined && result === undefined && (id === undefined || id === null || isRequestId(id)))
    return { kind: 'response', message: { jsonrpc, ...(id !== undefined && { id }), error } }
  if (result !== undefined && error === undefined && isRequestId(id))
    return { kind: 'response', message: { jsonrpc, id, result } }
  return invalid('a message has to be a request, a notification or a response', isRequestId(id) ? id : undefined)
}

/** Larger integers than JavaScript holds are not handed on as they came. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

export function errorMessage(id: RequestId | null, error: ProtocolError): ResponseMessage {
  return { jsonrpc: '2.0', id, error }
}

/** In messages. */
export const MAX_BATCH = 100

export function isBatch(messages: readonly unknown[]): boolean {
  return messages.length > 0 && messages.length <= MAX_BATCH && !messages.some(Array.isArray)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A member whose name differs only in case from one of `known`, or from another member of the object. Programs in Go ignore case,
 * and take the last such member.
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

/** Removes differences that programs may ignore: case, equivalent characters, and everything after a NUL. */
function folded(name: string): string {
  const [seen = ''] = name.split('\0')
  return seen.normalize('NFKC').toLowerCase()
}

function invalid(message: string, id: RequestId | null | undefined): Incoming {
  return { kind: 'invalid', error: { code: INVALID_REQUEST, message: `Invalid Request: ${message}` }, id }
}

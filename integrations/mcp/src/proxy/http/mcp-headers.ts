/** Protocol headers that repeat members of the body, since 2026-07-28. Both must match. */
import { isObject, type JsonRpcMessage } from '../../messages/json-rpc.js'
import { PROTOCOL_VERSION, STATELESS_REVISION } from '../../messages/protocol.js'
import { HttpRefusal } from './http-refusal.js'
import type { Headers } from './upstream-endpoint.js'

export const HEADER_MISMATCH = -32020

/** The member that `Mcp-Name` repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/**
 * Does not check `Mcp-Param-…`: only the server knows which arguments these headers repeat.
 *
 * @throws HttpRefusal 400 if `Mcp-Method` or `Mcp-Name` differ from the messages
 */
export function assertHeadersRepeat(headers: Headers, messages: readonly unknown[]): void {
  const method = headers['mcp-method']
  const name = headers['mcp-name']
  for (const message of messages) {
    const said = isObject(message) ? message : {}
    if (method !== undefined && method !== said.method) throw mismatch('Mcp-Method')
    if (name === undefined) continue
    const member =
      typeof said.method === 'string' && Object.hasOwn(NAMED_BY, said.method) ? NAMED_BY[said.method] : undefined
    const params = isObject(said.params) ? said.params : {}
    if (member === undefined || textIn(name) !== params[member]) throw mismatch('Mcp-Name')
  }
}

/** The headers of a request that the proxy makes for a client's request with these headers. */
export function headersOfOwnRequest(headers: Headers, method: string): Headers {
  const kept = Object.entries(headers).filter(([name]) => name !== 'mcp-name' && !name.startsWith('mcp-param-'))
  const own = { accept: 'application/json, text/event-stream', ...(headers['mcp-method'] && { 'mcp-method': method }) }
  return { ...Object.fromEntries(kept), ...own }
}

/** The headers of a 2026-07-28 request, without those of `ParamHeaders`. Undefined for any other message. */
export function modernHeaders(message: JsonRpcMessage): Headers | undefined {
  if (!('method' in message) || !('id' in message)) return undefined
  const params = isObject(message.params) ? message.params : {}
  const version = isObject(params._meta) ? params._meta[PROTOCOL_VERSION] : undefined
  if (typeof version !== 'string') return undefined
  const name = params[NAMED_BY[message.method] ?? '']
  return {
    'mcp-protocol-version': headerText(version),
    'mcp-method': headerText(message.method),
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  }
}

/** Whether clients of this version cancel a request only by closing its connection. */
export function cancelsByLeaving(headers: Headers): boolean {
  return (headers['mcp-protocol-version'] ?? '') >= STATELESS_REVISION
}

/** Decodes a header value. Text that is not plain is in Base64. */
function textIn(header: string): string {
  const encoded = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(header)?.[1]
  return encoded === undefined ? header : Buffer.from(encoded, 'base64').toString('utf8')
}

/** Encodes text as a header value. */
export function headerText(text: string): string {
  const isPlain = /^[!-~]([ -~]*[!-~])?$/.test(text) && !text.startsWith('=?base64?')
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function mismatch(header: string): HttpRefusal {
  return new HttpRefusal(400, `The ${header} header does not match the body`, { code: HEADER_MISMATCH })
}

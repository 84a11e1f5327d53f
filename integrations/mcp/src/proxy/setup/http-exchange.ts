/** Sends our requests to a Streamable HTTP server. */
import type { IncomingMessage } from 'node:http'
import { textOfJson } from '../../json/exact-json.js'
import { type JsonRpcMessage, type ResponseMessage, readMessage } from '../../messages/json-rpc.js'
import { withRelayedId } from '../../messages/odd-ids.js'
import { PROTOCOL_VERSION } from '../../messages/protocol.js'
import { streamParts } from '../http/event-stream.js'
import { readAnswer } from '../http/server-answer.js'
import { type Headers, UpstreamEndpoint } from '../http/upstream-endpoint.js'
import { MAX_ANSWER_BYTES, parsedServerText } from '../message-text.js'
import type { Log } from '../operator.js'
import { answerTo, resultIn, type ServerExchange } from './server-exchange.js'

export class HttpExchange implements ServerExchange {
  readonly #endpoint: UpstreamEndpoint
  readonly #ending = new AbortController()
  #headers: Headers = { accept: 'application/json, text/event-stream' }
  #lastId = 0

  /** @throws TypeError for a URL that is not HTTP */
  constructor(url: URL, credentials: Headers, log: Log) {
    this.#endpoint = new UpstreamEndpoint(url, credentials, log)
  }

  async request(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    this.#lastId += 1
    const id = this.#lastId
    const answer = await this.#post({ jsonrpc: '2.0', id, method, params }, headersFor(method, params))
    const { statusCode = 0, headers } = answer
    const session = headers['mcp-session-id']
    if (typeof session === 'string') this.#headers = { ...this.#headers, 'mcp-session-id': session }
    const response = await this.#responseIn(answer, id)
    if (response === undefined)
      throw new Error(`The server answered ${method} with HTTP ${statusCode} and no JSON-RPC response.`)
    return resultIn(response, method)
  }

  async notify(method: string): Promise<void> {
    await this.#tell({ jsonrpc: '2.0', method })
  }

  useVersion(protocolVersion: string): void {
    this.#headers = { ...this.#headers, 'mcp-protocol-version': protocolVersion }
  }

  async close(): Promise<void> {
    try {
      if (this.#headers['mcp-session-id'] !== undefined) {
        const signal = AbortSignal.timeout(1_000)
        const answer = await this.#endpoint.request({ method: 'DELETE', headers: this.#headers, signal })
        answer.resume()
      }
    } catch {
      // The server forgets the session by itself.
    }
    this.#ending.abort()
    this.#endpoint.close()
  }

  #post(message: JsonRpcMessage, more: Headers = {}): Promise<IncomingMessage> {
    const { signal } = this.#ending
    const headers = { ...this.#headers, ...more }
    return this.#endpoint.request({ method: 'POST', headers, body: textOfJson(message), signal })
  }

  async #tell(message: JsonRpcMessage): Promise<void> {
    const answer = await this.#post(message)
    answer.resume()
  }

  /** Undefined if the answer contains no response. */
  async #responseIn(answer: IncomingMessage, id: number): Promise<ResponseMessage | undefined> {
    const type = answer.headers['content-type'] ?? ''
    if (type.startsWith('application/json')) return this.#read(await readAnswer(answer), id)
    if (!type.startsWith('text/event-stream')) {
      answer.resume()
      return undefined
    }
    for await (const part of streamParts(answer, MAX_ANSWER_BYTES)) {
      const response = part.kind === 'event' ? this.#read(part.data, id) : undefined
      if (response !== undefined) return response
    }
    return undefined
  }

  #read(text: string, id: number): ResponseMessage | undefined {
    const given = withRelayedId(parsedServerText(text))
    const read = readMessage(given)
    const answer = answerTo(read, given)
    if (answer !== undefined) this.#tell(answer).catch(() => undefined)
    if (read.kind !== 'response') return undefined
    const { message } = read
    // An error without an id may come from a proxy on the way.
    return message.id === id || (message.error !== undefined && (message.id ?? null) === null) ? message : undefined
  }
}

/** Since 2026-07-28 headers repeat members of the body. */
function headersFor(method: string, params: object): Headers {
  const { _meta } = params as { _meta?: Readonly<Record<string, unknown>> }
  const version = _meta?.[PROTOCOL_VERSION]
  return typeof version === 'string' ? { 'mcp-protocol-version': version, 'mcp-method': method } : {}
}

/** Requests of our own to a server of Streamable HTTP. */
import type { IncomingMessage } from 'node:http'
import { type JsonRpcMessage, type ResponseMessage, readMessage } from '../json-rpc.js'
import { PROTOCOL_VERSION } from '../protocol.js'
import { streamParts } from './event-stream.js'
import type { Log } from './log.js'
import { answerTo, resultIn, type ServerExchange } from './server-exchange.js'
import { type Headers, UpstreamEndpoint } from './upstream-endpoint.js'

/** Of one answer, or one event. */
const MAX_BYTES = 64 * 1024 * 1024

export class HttpExchange implements ServerExchange {
  readonly #endpoint: UpstreamEndpoint
  readonly #ending = new AbortController()
  #headers: Headers = { accept: 'application/json, text/event-stream' }
  #lastId = 0

  /** @throws TypeError for a URL that is none of HTTP */
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
      // It forgets the session by itself.
    }
    this.#ending.abort()
    this.#endpoint.close()
  }

  #post(message: JsonRpcMessage, more: Headers = {}): Promise<IncomingMessage> {
    const { signal } = this.#ending
    const headers = { ...this.#headers, ...more }
    return this.#endpoint.request({ method: 'POST', headers, body: JSON.stringify(message), signal })
  }

  async #tell(message: JsonRpcMessage): Promise<void> {
    const answer = await this.#post(message)
    answer.resume()
  }

  /** Undefined where there is none in the answer. */
  async #responseIn(answer: IncomingMessage, id: number): Promise<ResponseMessage | undefined> {
    const type = answer.headers['content-type'] ?? ''
    if (type.startsWith('application/json')) return this.#read(await textOf(answer), id)
    if (!type.startsWith('text/event-stream')) {
      answer.resume()
      return undefined
    }
    for await (const part of streamParts(answer, MAX_BYTES)) {
      const response = part.kind === 'event' ? this.#read(part.data, id) : undefined
      if (response !== undefined) return response
    }
    return undefined
  }

  #read(text: string, id: number): ResponseMessage | undefined {
    const read = readMessage(parsed(text))
    if (read.kind === 'request') this.#tell(answerTo(read.message)).catch(() => undefined)
    if (read.kind !== 'response') return undefined
    const { message } = read
    // An error may come without an id, from what stands before the server.
    return message.id === id || (message.error !== undefined && (message.id ?? null) === null) ? message : undefined
  }
}

/** Since 2026-07-28 headers repeat what the body says. */
function headersFor(method: string, params: object): Headers {
  const { _meta } = params as { _meta?: Readonly<Record<string, unknown>> }
  const version = _meta?.[PROTOCOL_VERSION]
  return typeof version === 'string' ? { 'mcp-protocol-version': version, 'mcp-method': method } : {}
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`The answer of the server has more than ${MAX_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

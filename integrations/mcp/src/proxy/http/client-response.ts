/** The proxy's answer to a client. The client may leave at any time; nothing is written after that. */
import type { ServerResponse } from 'node:http'
import { textOfJson } from '../../json/exact-json.js'
import type { Headers } from './upstream-endpoint.js'

export class ClientResponse {
  readonly #leaving = new AbortController()
  /** Resolves when the answer is sent or the client has left. */
  readonly finished: Promise<void>

  constructor(private readonly response: ServerResponse) {
    this.finished = new Promise((resolve) => {
      response.once('finish', resolve)
      response.once('close', resolve)
    })
    response.on('close', () => {
      if (!response.writableFinished) this.#leaving.abort(new Error('the client has left'))
    })
    // For a socket that breaks during a write. `close` follows.
    response.on('error', () => undefined)
  }

  /** Aborted when the client leaves before it has the whole answer. */
  get gone(): AbortSignal {
    return this.#leaving.signal
  }

  /** Whether the head was sent. */
  get hasBegun(): boolean {
    return this.response.headersSent
  }

  /** Starts a stream of events. */
  begin(headers: Headers): void {
    if (this.gone.aborted) return
    // No proxy in between may hold back an event.
    this.response.writeHead(200, {
      'cache-control': 'no-cache, no-transform',
      ...headers,
      'content-type': 'text/event-stream',
    })
    this.response.flushHeaders()
  }

  /** Resolves when there is room for more, or the client has left. */
  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.response.writableEnded || this.response.write(text)) return
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        this.response.off('drain', goOn).off('close', goOn)
        resolve()
      }
      this.response.on('drain', goOn).on('close', goOn)
    })
  }

  end(): void {
    if (!this.response.writableEnded) this.response.end()
  }

  /** Breaks the connection, so that the client notices that the answer is incomplete. */
  cut(): void {
    this.response.destroy()
  }

  whole(status: number, headers: Headers, body: string | Buffer = ''): void {
    if (this.gone.aborted || this.hasBegun) return
    this.response.writeHead(status, { ...headers, 'content-length': `${Buffer.byteLength(body)}` })
    this.response.end(body)
  }

  json(status: number, body: unknown, headers: Headers = {}): void {
    this.whole(status, { ...headers, 'content-type': 'application/json' }, textOfJson(body))
  }
}

/** An answer of the proxy to one of its clients, who may leave at any time: then nothing is written any more. */
import type { ServerResponse } from 'node:http'
import type { Headers } from './upstream-endpoint.js'

export class ClientResponse {
  readonly #response: ServerResponse
  readonly #leaving = new AbortController()
  /** Resolves when all of it is sent, or the client has left. */
  readonly finished: Promise<void>

  constructor(response: ServerResponse) {
    this.#response = response
    this.finished = new Promise((resolve) => {
      response.once('finish', resolve)
      response.once('close', resolve)
    })
    response.on('close', () => {
      if (!response.writableFinished) this.#leaving.abort(new Error('the client has left'))
    })
    // Of a socket that broke while it was written to: `close` follows.
    response.on('error', () => undefined)
  }

  /** Aborted when the client leaves before it has the whole answer. */
  get gone(): AbortSignal {
    return this.#leaving.signal
  }

  /** Whether its head was sent. */
  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** A stream of events. */
  begin(headers: Headers): void {
    if (this.gone.aborted) return
    // What lies between must not hold back an event.
    this.#response.writeHead(200, {
      'cache-control': 'no-cache, no-transform',
      ...headers,
      'content-type': 'text/event-stream',
    })
    this.#response.flushHeaders()
  }

  /** Resolves once there is room for more, or nobody to read it. */
  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.#response.writableEnded || this.#response.write(text)) return
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        this.#response.off('drain', goOn).off('close', goOn)
        resolve()
      }
      this.#response.on('drain', goOn).on('close', goOn)
    })
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end()
  }

  /** Ends the connection in the middle of the answer, so that the client sees that it is not whole. */
  cut(): void {
    this.#response.destroy()
  }

  whole(status: number, headers: Headers, body = ''): void {
    if (this.gone.aborted || this.hasBegun) return
    this.#response.writeHead(status, { ...headers, 'content-length': `${Buffer.byteLength(body)}` })
    this.#response.end(body)
  }

  json(status: number, body: unknown, headers: Headers = {}): void {
    this.whole(status, { ...headers, 'content-type': 'application/json' }, JSON.stringify(body))
  }
}

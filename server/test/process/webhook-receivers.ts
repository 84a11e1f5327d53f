/** Receivers of webhooks for tests: they note what they get, and fail as they are told to. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Webhook } from 'standardwebhooks'

// biome-ignore lint/suspicious/noExplicitAny: bodies are whatever JSON came; tests assert what they read of it
type AnyJson = any

export interface Received {
  readonly id: string
  readonly text: string
  readonly headers: IncomingHttpHeaders
  readonly body: AnyJson
}

/** Answers a delivery. One that answers nothing hangs. */
export type Answering = (received: Received, res: ServerResponse) => void

export class Receiver {
  readonly received: Received[] = []
  /** By the published library. Null: the secret is not known yet. */
  verifier: Webhook | null = null
  verified = 0
  readonly faults: string[] = []
  #server: Server | null = null

  constructor(private readonly answer: Answering = (_, res) => void res.writeHead(204).end()) {}

  async open(): Promise<string> {
    const server = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => this.#take(req.headers, Buffer.concat(chunks).toString(), res))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.#server = server
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  }

  get ids(): ReadonlySet<string> {
    return new Set(this.received.map(({ id }) => id))
  }

  close(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  #take(headers: IncomingHttpHeaders, text: string, res: ServerResponse): void {
    const received = { id: String(headers['webhook-id']), text, headers, body: JSON.parse(text) }
    this.received.push(received)
    try {
      this.verifier?.verify(text, headers as Record<string, string>)
      this.verified += 1
    } catch (error) {
      this.faults.push(`${received.id}: ${error}`)
    }
    this.answer(received, res)
  }
}

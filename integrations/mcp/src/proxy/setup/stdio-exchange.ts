/** Sends our requests to a server that is started for them. */
import { isRequestId, type RequestId, type ResponseMessage, readMessage } from '../../messages/json-rpc.js'
import { withRelayedId } from '../../messages/odd-ids.js'
import type { Log } from '../operator.js'
import { ServerProcess } from '../stdio/child-process.js'
import { answerTo, resultIn, type ServerExchange } from './server-exchange.js'

interface Waiting {
  readonly resolve: (response: ResponseMessage) => void
  readonly reject: (error: Error) => void
}

export class StdioExchange implements ServerExchange {
  readonly #waiting = new Map<RequestId, Waiting>()
  #lastId = 0

  private constructor(
    private readonly server: ServerProcess,
    log: Log,
  ) {
    server.listen({
      onMessage: (message) => this.#receive(message),
      onGarbage: (fault, start) => log.warn(`The server wrote ${fault}: ${start}`),
    })
    void server.ended.then(({ code, signal }) =>
      this.#fail(new Error(`The server has ended by itself (${signal ?? `exit code ${code}`}).`)),
    )
  }

  /** @throws CommandError */
  static async start(command: string, args: readonly string[], log: Log): Promise<StdioExchange> {
    return new StdioExchange(await ServerProcess.start(command, args), log)
  }

  async request(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    this.#lastId += 1
    const id = this.#lastId
    const response = new Promise<ResponseMessage>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    // If sending fails, the end of the server rejects the response with a better message.
    this.#send({ jsonrpc: '2.0', id, method, params })
    return resultIn(await response, method)
  }

  async notify(method: string): Promise<void> {
    this.#send({ jsonrpc: '2.0', method })
  }

  close(): Promise<void> {
    return this.server.stop()
  }

  #send(message: object): void {
    try {
      this.server.send(message).catch(() => undefined)
    } catch {
      // The server has ended, which rejects pending requests.
    }
  }

  #receive(value: unknown): void {
    const message = withRelayedId(value)
    const read = readMessage(message)
    const answer = answerTo(read, message)
    if (answer !== undefined) this.#send(answer)
    if (read.kind !== 'response') return
    const { id } = read.message
    if (!isRequestId(id)) return
    this.#waiting.get(id)?.resolve(read.message)
    this.#waiting.delete(id)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

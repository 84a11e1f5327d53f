/** The state of one `tools/call` between its request and its response. */
import { resultOf } from './called-message.js'
import type { ResponseMessage } from './json-rpc.js'
import type { ToolResult } from './tool-result.js'

/** The call was cancelled before it was forwarded: nobody is to be answered. */
export const CANCELLED = new DOMException('The call was cancelled', 'AbortError')

export class PendingCall<ServerVia> {
  readonly #ending = new AbortController()
  #response: PromiseWithResolvers<ResponseMessage> | undefined
  #answeredVia: { readonly via: ServerVia } | undefined

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  get isForwarded(): boolean {
    return this.#response !== undefined
  }

  /** With what the response came; undefined where there is none. */
  get answeredVia(): { readonly via: ServerVia } | undefined {
    return this.#answeredVia
  }

  /** @throws as `resultOf` does, and what it is failed with */
  async forward(send: () => void): Promise<ToolResult> {
    this.#response = promiseWithResolvers()
    send()
    return resultOf(await this.#response.promise)
  }

  /** Gives whether this is the response: a server cannot answer what it has not got, nor twice. */
  respond(response: ResponseMessage, via: ServerVia): boolean {
    if (this.#response === undefined || this.#answeredVia !== undefined) return false
    this.#answeredVia = { via }
    this.#response.resolve(response)
    return true
  }

  fail(error: unknown): void {
    if (this.#response === undefined) this.#ending.abort(error)
    else if (this.#answeredVia === undefined) this.#response.reject(error)
  }

  /** What has been forwarded goes on, and is settled by how it ends. */
  cancel(): void {
    this.#ending.abort(CANCELLED)
  }
}

interface PromiseWithResolvers<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(error: unknown): void
}

/** As of `Promise`, from Node 22 on. */
function promiseWithResolvers<Value>(): PromiseWithResolvers<Value> {
  const given: Partial<PromiseWithResolvers<Value>> = {}
  const promise = new Promise<Value>((resolve, reject) => Object.assign(given, { resolve, reject }))
  return { ...(given as PromiseWithResolvers<Value>), promise }
}

import { MessagePort, type Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../ports/store/errors.js'

/** The functions that one thread may call in the other, by name, with values that can be cloned. */
export type Callable = Readonly<Record<string, (...parameters: never[]) => unknown>>

type Message =
  /** A null `call` expects no answer. */
  | { readonly call: number | null; readonly method: string; readonly parameters: readonly unknown[] }
  | { readonly answer: number; readonly result: unknown }
  | { readonly answer: number; readonly failure: Failure }

interface Failure {
  readonly message: string
  readonly isUnavailable: boolean
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * Calls functions between two threads, in both directions. Errors arrive as their message and whether the store was at
 * fault.
 */
export class ThreadCalls {
  readonly #waiting = new Map<number, Waiting>()
  #calls = 0
  #ended: Error | null = null

  constructor(
    private readonly port: Pick<MessagePort | Worker, 'on' | 'postMessage'>,
    private readonly own: Callable,
  ) {
    port.on('message', (message: Message) => {
      if ('method' in message) void this.#perform(message)
      else this.#settle(message)
    })
  }

  /** Calls a function of the other thread without waiting for its result. */
  tell(method: string, ...parameters: readonly unknown[]): void {
    if (this.#ended === null) this.port.postMessage({ call: null, method, parameters } satisfies Message)
  }

  /** Call this when the other thread has ended: pending and later calls to it fail. */
  end(error: Error): void {
    this.#ended = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  /** Calls a function of the other thread. */
  ask(method: string, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    this.#calls += 1
    const call = this.#calls
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject })
      this.port.postMessage({ call, method, parameters } satisfies Message)
    })
  }

  async #perform({ call, method, parameters }: Extract<Message, { readonly method: string }>): Promise<void> {
    try {
      const perform = this.own[method] as ((...parameters: readonly unknown[]) => unknown) | undefined
      if (perform === undefined) throw new Error(`The other thread has no ${method}.`)
      const result = await perform(...parameters)
      if (call !== null)
        this.port.postMessage({ answer: call, result } satisfies Message, result instanceof MessagePort ? [result] : [])
    } catch (error) {
      if (call === null) return
      const message = error instanceof Error ? error.message : String(error)
      const failure = { message, isUnavailable: error instanceof StoreUnavailableError }
      this.port.postMessage({ answer: call, failure } satisfies Message)
    }
  }

  #settle(message: Exclude<Message, { readonly method: string }>): void {
    const waiting = this.#waiting.get(message.answer)
    this.#waiting.delete(message.answer)
    if (!('failure' in message)) waiting?.resolve(message.result)
    else waiting?.reject(errorOf(message.failure))
  }
}

/**
 * The functions of another thread, besides those that are `here`.
 *
 * @param callsNow returns how to call the thread: another one may run by then
 */
export function remote<T extends object>(callsNow: () => ThreadCalls, here: Partial<T> = {}): T {
  return new Proxy(here as T, {
    get(_, method) {
      if (method in here || typeof method !== 'string' || method === 'then') return Reflect.get(here, method)
      return (...parameters: readonly unknown[]) => callsNow().ask(method, parameters)
    },
  })
}

function errorOf({ message, isUnavailable }: Failure): Error {
  return isUnavailable ? new StoreUnavailableError(message) : new Error(message)
}

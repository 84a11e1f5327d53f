import type { StoreUnavailableError } from '../../ports/store/errors.js'
import type { WriterAnswer, WriterRequest, WriterTasks } from './writer-tasks.js'

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The calls of one thread to the writer's thread that have no answer yet. After a failure every call rejects. */
export class WriterCalls {
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #failure: StoreUnavailableError | null = null

  constructor(private readonly send: (request: WriterRequest) => void) {}

  get failure(): StoreUnavailableError | null {
    return this.#failure
  }

  ask<Name extends keyof WriterTasks>(
    task: Name,
    ...parameters: Parameters<WriterTasks[Name]>
  ): Promise<ReturnType<WriterTasks[Name]>> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    this.#asked += 1
    const request: WriterRequest = { number: this.#asked, task, parameters }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.number, { resolve: resolve as Waiting['resolve'], reject })
      this.send(request)
    })
  }

  settle(answer: Extract<WriterAnswer, { readonly result: unknown } | { readonly undone: string }>): void {
    const waiting = this.#waiting.get(answer.number)
    this.#waiting.delete(answer.number)
    if ('result' in answer) waiting?.resolve(answer.result)
    else waiting?.reject(new Error(`The store has undone the writes: ${answer.undone}`))
  }

  fail(error: StoreUnavailableError): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}

import { Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '@countersign/store-port/store'
import type { WriterAnswer, WriterData, WriterRequest, WriterTasks } from './writer-tasks.js'

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: StoreUnavailableError) => void
}

/** The writer's thread, as the main thread sees it. After its first failure it rejects every call. */
export class Writer {
  readonly #thread: Worker
  readonly #onError: (error: Error) => void
  readonly #waiting = new Map<number, Waiting>()
  readonly #ended: Promise<void>
  #asked = 0
  #failure: StoreUnavailableError | null = null

  /** @param onError gets the errors of what the thread does by itself; it tries again */
  constructor(data: WriterData, onError: (error: Error) => void) {
    this.#onError = onError
    // Flags such as --input-type are for the program that opens the store, and would stop the thread.
    this.#thread = new Worker(new URL('./worker.js', import.meta.url), { workerData: data, execArgv: [] })
    this.#thread.on('message', (answer: WriterAnswer) => this.#settle(answer))
    this.#thread.on('error', (cause) => this.#fail(cause))
    this.#ended = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        this.#fail(new Error('The writing thread has ended.'))
        resolve()
      })
    })
  }

  get isUsable(): boolean {
    return this.#failure === null
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
      this.#thread.postMessage(request)
    })
  }

  /** Resolves when the thread has ended. */
  ended(): Promise<void> {
    return this.#ended
  }

  #settle(answer: WriterAnswer): void {
    if ('trouble' in answer) {
      this.#onError(new Error(`The -wal file could not be copied into the database: ${answer.trouble}`))
      return
    }
    if ('failure' in answer) {
      this.#fail(Object.assign(new Error(answer.failure.message), { code: answer.failure.code }))
      return
    }
    const waiting = this.#waiting.get(answer.number)
    this.#waiting.delete(answer.number)
    waiting?.resolve(answer.result)
  }

  #fail(cause: Error): void {
    this.#failure ??= new StoreUnavailableError(`The store could not write: ${cause.message}`, { cause })
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}

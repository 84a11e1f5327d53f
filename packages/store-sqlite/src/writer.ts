import { type MessagePort, Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { WriterCalls } from './writer-calls.js'
import type { WriterAnswer, WriterConnection, WriterData, WriterTasks } from './writer-tasks.js'

/** The writer's thread, as the main thread sees it. After its first failure it rejects every call. */
export class Writer {
  readonly #thread: Worker
  readonly #calls: WriterCalls
  readonly #onError: (error: Error) => void
  readonly #ended: Promise<void>

  /** @param onError gets the errors of what the thread does by itself; it tries again */
  constructor(data: WriterData, onError: (error: Error) => void) {
    this.#onError = onError
    // Flags such as --input-type are for the program that opens the store, and would stop the thread.
    const thread = new Worker(new URL('./worker.js', import.meta.url), { workerData: data, execArgv: [] })
    this.#thread = thread
    this.#calls = new WriterCalls((request) => thread.postMessage(request))
    thread.on('message', (answer: WriterAnswer) => this.#settle(answer))
    thread.on('error', (cause) => this.#fail(cause))
    this.#ended = new Promise((resolve) => {
      thread.once('exit', () => {
        this.#fail(new Error('The writing thread has ended.'))
        resolve()
      })
    })
  }

  get isUsable(): boolean {
    return this.#calls.failure === null
  }

  ask<Name extends keyof WriterTasks>(
    task: Name,
    ...parameters: Parameters<WriterTasks[Name]>
  ): Promise<ReturnType<WriterTasks[Name]>> {
    return this.#calls.ask(task, ...parameters)
  }

  /** Lets another thread ask through a port of its own. The port is closed when the writer's thread ends. */
  connect(port: MessagePort): void {
    this.#thread.postMessage({ connect: port } satisfies WriterConnection, [port])
  }

  /** Resolves when the thread has ended. */
  ended(): Promise<void> {
    return this.#ended
  }

  #settle(answer: WriterAnswer): void {
    if ('trouble' in answer)
      this.#onError(new Error(`The -wal file could not be copied into the database: ${answer.trouble}`))
    else if ('failure' in answer)
      this.#fail(Object.assign(new Error(answer.failure.message), { code: answer.failure.code }))
    else this.#calls.settle(answer)
  }

  #fail(cause: Error): void {
    this.#calls.fail(new StoreUnavailableError(`The store could not write: ${cause.message}`, { cause }))
  }
}

import { type MessagePort, Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { BUSY_TIMEOUT_MS } from './driver.js'
import { TaskGate } from './task-gate.js'
import { WriterCalls } from './writer-calls.js'
import type { Ask, WriterAnswer, WriterConnection, WriterData, WriterTasks } from './writer-tasks.js'

/** A task waits for a lock at most once. */
const LONGEST_TASK_MS = BUSY_TIMEOUT_MS + 500

/** Gates of the running threads: an exiting process ends them. */
const gates = new Set<TaskGate>()

function shutGates(): void {
  for (const gate of gates) gate.shut(LONGEST_TASK_MS)
}

/** The writer's thread as seen from the main thread. After its first failure it rejects every call. */
export class Writer {
  readonly #thread: Worker
  readonly #calls: WriterCalls
  readonly #ended: Promise<void>

  /** @param onError called with errors of the thread's background tasks, which it retries */
  constructor(
    data: Omit<WriterData, 'gate'>,
    private readonly onError: (error: Error) => void,
  ) {
    const gate = new TaskGate()
    if (gates.size === 0) process.on('exit', shutGates)
    gates.add(gate)
    const workerData: WriterData = { ...data, gate: gate.numbers }
    // Flags such as --input-type are for the program that opens the store, and would stop the thread.
    const thread = new Worker(new URL('./worker.js', import.meta.url), { workerData, execArgv: [] })
    this.#thread = thread
    this.#calls = new WriterCalls((request) => thread.postMessage(request))
    thread.on('message', (answer: WriterAnswer) => this.#settle(answer))
    thread.on('error', (cause) => this.#fail(cause))
    this.#ended = new Promise((resolve) => {
      thread.once('exit', () => {
        gates.delete(gate)
        if (gates.size === 0) process.off('exit', shutGates)
        this.#fail(new Error('The writing thread has ended.'))
        resolve()
      })
    })
  }

  get isUsable(): boolean {
    return this.#calls.failure === null
  }

  readonly ask: Ask<keyof WriterTasks> = (task, ...parameters) => this.#calls.ask(task, ...parameters)

  /** Lets another thread call through its own port, which is closed when the writer's thread ends. */
  connect(port: MessagePort): void {
    this.#thread.postMessage({ connect: port } satisfies WriterConnection, [port])
  }

  /** Resolves when the thread has ended. */
  ended(): Promise<void> {
    return this.#ended
  }

  #settle(answer: WriterAnswer): void {
    if ('trouble' in answer)
      this.onError(new Error(`The -wal file could not be copied into the database: ${answer.trouble}`))
    else if ('failure' in answer)
      this.#fail(Object.assign(new Error(answer.failure.message), { code: answer.failure.code }))
    else this.#calls.settle(answer)
  }

  #fail(cause: Error): void {
    this.#calls.fail(new StoreUnavailableError(`The store could not write: ${cause.message}`, { cause }))
  }
}

interface KeyedMutexOptions {
  /** How many tasks of one key may run or wait at a time. */
  readonly maxTasks: number
  /** Made for a task that is one too many. */
  readonly tooManyError: () => Error
  /** Whether the tasks that wait fail with the same error. Where each would only fail later, their waits would add up. */
  readonly failsWaiting: (error: unknown) => boolean
}

interface Queue {
  last: Promise<unknown>
  tasks: number
}

/** Runs the tasks of one key one at a time, in the order in which they came. Tasks of different keys run side by side. */
export class KeyedMutex {
  readonly #queues = new Map<string, Queue>()
  readonly #waiting = new Map<string, Promise<unknown>>()

  /** Without options any number of tasks may wait, and each runs whatever becomes of the one before. */
  constructor(private readonly options?: KeyedMutexOptions) {}

  /** Resolves or rejects as the task does. @throws what `tooManyError` makes, and what `failsWaiting` passes on */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const { options } = this
    const queue = this.#queues.get(key) ?? { last: Promise.resolve(), tasks: 0 }
    if (options && queue.tasks >= options.maxTasks) return Promise.reject(options.tooManyError())
    const result = queue.last.then(task, (error: unknown) => {
      if (options?.failsWaiting(error)) throw error
      return task()
    })
    queue.last = result
    queue.tasks += 1
    this.#queues.set(key, queue)
    const leave = (): void => {
      queue.tasks -= 1
      if (queue.tasks === 0) this.#queues.delete(key)
    }
    result.then(leave, leave)
    return result
  }

  /** Singleflight: all calls that come before the task begins share one run of it. A call that comes later gets the next run. */
  join<T>(key: string, task: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) return waiting as Promise<T>
    const begin = (): void => void this.#waiting.delete(key)
    const result = this.run(key, () => {
      begin()
      return task()
    })
    this.#waiting.set(key, result)
    result.catch(begin)
    return result
  }
}

interface KeyedMutexOptions {
  /** How many tasks of one key may run or wait at a time. */
  readonly maxTasks: number
  /** Creates the error of a task that exceeds the limit. */
  readonly tooManyError: () => Error
  /**
   * Whether waiting tasks fail with the same error. Use it where each would fail only later, and their waits would add
   * up.
   */
  readonly failsWaiting: (error: unknown) => boolean
}

interface Queue {
  last: Promise<unknown>
  tasks: number
}

/** Runs the tasks of one key one at a time, in order of arrival. Tasks of different keys run concurrently. */
export class KeyedMutex {
  readonly #queues = new Map<string, Queue>()
  readonly #waiting = new Map<string, Promise<unknown>>()

  /** Without options any number of tasks may wait, and each runs even if the one before failed. */
  constructor(private readonly options?: KeyedMutexOptions) {}

  /**
   * Resolves or rejects like the task. @throws the error of `tooManyError`, and errors that `failsWaiting` passes on
   */
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

  /** Singleflight: all calls that arrive before the task begins share one run of it. A later call gets the next run. */
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

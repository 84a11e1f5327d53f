/** Runs tasks one at a time, in the order in which they came. A task that fails does not stop the next one. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves or rejects as the task does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when all tasks have ended that came before this call. Never rejects. */
  async idle(): Promise<void> {
    await this.#last
  }
}

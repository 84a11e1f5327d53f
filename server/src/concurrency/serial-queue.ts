/** Runs tasks one at a time, in order of arrival. A failed task does not stop the next one. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves or rejects like the task. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when all tasks that arrived before this call have ended. Never rejects. */
  async idle(): Promise<void> {
    await this.#last
  }
}

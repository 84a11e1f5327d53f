/** Runs one task after the other, in the order in which they came. A task that fails does not stop the next. */
export class Lock {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task)
    this.last = result.catch(() => {})
    return result
  }
}

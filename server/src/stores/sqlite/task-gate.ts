/**
 * Indexes of the shared numbers: the first is 1 while the thread works, the second is 1 when it must begin nothing
 * more.
 */
const AT_WORK = 0
const IS_SHUT = 1

/**
 * Shared by a database thread and the exiting process. The library aborts the process when SQLite fails in a thread
 * that is being ended, as it does while another program has the database locked. So the process lets the thread finish
 * first.
 */
export class TaskGate {
  /** @param numbers of the thread that created it; a new thread is at work */
  constructor(readonly numbers = new Int32Array(new SharedArrayBuffer(8)).fill(1, AT_WORK, IS_SHUT)) {}

  /** Called in the thread before work. False when the process exits: then there is nothing left to do. */
  enter(): boolean {
    Atomics.store(this.numbers, AT_WORK, 1)
    if (Atomics.load(this.numbers, IS_SHUT) === 0) return true
    this.leave()
    return false
  }

  /** Called in the thread after work. */
  leave(): void {
    Atomics.store(this.numbers, AT_WORK, 0)
    Atomics.notify(this.numbers, AT_WORK)
  }

  /** Stops the thread from beginning more work, and blocks the caller until it has left, at most for `longestMs`. */
  shut(longestMs: number): void {
    Atomics.store(this.numbers, IS_SHUT, 1)
    Atomics.wait(this.numbers, AT_WORK, 1, longestMs)
  }
}

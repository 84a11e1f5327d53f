/** Shows the progress of a long run on standard error; shows nothing for a short one. */
const FIRST_AFTER_MS = 2_000
const TERMINAL_EVERY_MS = 500
const PLAIN_EVERY_MS = 10_000
/** The clock is read once per this many lines. */
const LINES = 512

export class Progress {
  readonly #isTerminal = process.stderr.isTTY === true
  #nextMs = performance.now() + FIRST_AFTER_MS
  #isShown = false

  /** @param totalBytes null when unknown */
  constructor(private readonly totalBytes: number | null) {}

  /** Reports the work done so far. */
  at(lines: number, bytes: number): void {
    if (lines % LINES !== 0 || performance.now() < this.#nextMs) return
    this.#nextMs = performance.now() + (this.#isTerminal ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS)
    this.#isShown = true
    const share = this.totalBytes ? `, ${Math.floor((100 * bytes) / this.totalBytes)} %` : ''
    process.stderr.write(`${this.#isTerminal ? '\r' : ''}${lines} lines${share}${this.#isTerminal ? '' : '\n'}`)
  }

  end(): void {
    if (this.#isTerminal && this.#isShown) process.stderr.write('\n')
  }
}

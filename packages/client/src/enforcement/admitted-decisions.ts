const SWEEP_AT_LEAST = 1_024

/**
 * The decisions that this process was admitted to run, so that none is run twice in it while the decision point still says
 * that it may: asked again with the same key and holder, it does.
 */
export class AdmittedDecisions {
  /** By id, when each is over, in milliseconds since 1970. */
  readonly #ends = new Map<string, number>()
  #sweepAt = SWEEP_AT_LEAST

  /** False when it was admitted before. */
  add(id: string, endsAtMs: number, nowMs: number): boolean {
    if (this.#ends.has(id)) return false
    if (this.#ends.size >= this.#sweepAt) this.#sweep(nowMs)
    this.#ends.set(id, endsAtMs)
    return true
  }

  /** The decision point knows of it by now, and lets it run no more. */
  forget(id: string): void {
    this.#ends.delete(id)
  }

  /** What is over runs no more either. */
  #sweep(nowMs: number): void {
    for (const [id, endsAtMs] of this.#ends) if (endsAtMs <= nowMs) this.#ends.delete(id)
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, this.#ends.size * 2)
  }
}

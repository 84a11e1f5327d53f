const SWEEP_AT_LEAST = 1_024

/**
 * The decisions that this process was admitted to run, so that none is run twice in it: asked again with the same key and
 * holder, the decision point says that it may, and an answer that is late says so when it has run already.
 */
export class AdmittedDecisions {
  /** One for all clients: a decision point may be known by several URLs, and no two give the same id. */
  static readonly ofProcess = new AdmittedDecisions()

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

  /** It did not begin here, and may be asked for again. */
  delete(id: string): void {
    this.#ends.delete(id)
  }

  /** What is over runs no more, and only that is forgotten: whoever has settled may still be told that it may run. */
  #sweep(nowMs: number): void {
    for (const [id, endsAtMs] of this.#ends) if (endsAtMs <= nowMs) this.#ends.delete(id)
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, this.#ends.size * 2)
  }
}

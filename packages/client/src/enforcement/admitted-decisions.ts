const SWEEP_AT_LEAST = 1_024

/**
 * The decisions that this process was admitted to run, so that none is run twice in it: asked again with the same key and
 * holder, the decision point says that it may, and an answer that is late says so when it has run already.
 */
export class AdmittedDecisions {
  /** One for each decision point: its clients share it. */
  static readonly #byBaseUrl = new Map<string, AdmittedDecisions>()

  /** By id, when each is over, in milliseconds since 1970. */
  readonly #ends = new Map<string, number>()
  #sweepAt = SWEEP_AT_LEAST

  static of(baseUrl: string): AdmittedDecisions {
    const known = AdmittedDecisions.#byBaseUrl.get(baseUrl)
    if (known !== undefined) return known
    const made = new AdmittedDecisions()
    AdmittedDecisions.#byBaseUrl.set(baseUrl, made)
    return made
  }

  /** False when it was admitted before. */
  add(id: string, endsAtMs: number, nowMs: number): boolean {
    if (this.#ends.has(id)) return false
    if (this.#ends.size >= this.#sweepAt) this.#sweep(nowMs)
    this.#ends.set(id, endsAtMs)
    return true
  }

  /** What is over runs no more, and only that is forgotten: whoever has settled may still be told that it may run. */
  #sweep(nowMs: number): void {
    for (const [id, endsAtMs] of this.#ends) if (endsAtMs <= nowMs) this.#ends.delete(id)
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, this.#ends.size * 2)
  }
}

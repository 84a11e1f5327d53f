const SWEEP_AT_LEAST = 1_024

/** What this process knows of one decision that it was admitted to run. */
export interface Turn {
  /** When the decision expires, in milliseconds since 1970. */
  endsAtMs: number
  /** Somebody was admitted, and has not given it back. */
  isTaken: boolean
  /** The action began in a turn that was given back. */
  hasBegun: boolean
  /** This process has used up the permit. */
  isRedeemed: boolean
}

/**
 * The decisions that this process was admitted to run, so that none is run twice in it: asked again with the same key and
 * holder, the decision point says that it may, and an answer that is late says so when it has run already.
 */
export class AdmittedDecisions {
  /** One for all clients: a decision point may be known by several URLs, and no two give the same id. */
  static readonly ofProcess = new AdmittedDecisions()

  readonly #turns = new Map<string, Turn>()
  #sweepAt = SWEEP_AT_LEAST

  /** Undefined when somebody has it, or had it and did not give it back. */
  take(id: string, endsAtMs: number, nowMs: number): Turn | undefined {
    const known = this.#turns.get(id)
    if (known?.isTaken) return undefined
    if (this.#turns.size >= this.#sweepAt) this.#sweep(nowMs)
    const turn = known ?? { endsAtMs, isTaken: true, hasBegun: false, isRedeemed: false }
    turn.isTaken = true
    turn.endsAtMs = endsAtMs
    this.#turns.set(id, turn)
    return turn
  }

  /** Forgets only what has expired: the decision point may still say that a settled decision may run. */
  #sweep(nowMs: number): void {
    for (const [id, { endsAtMs }] of this.#turns) if (endsAtMs <= nowMs) this.#turns.delete(id)
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, this.#turns.size * 2)
  }
}

import { ofProcess } from '../../of-process.js'

const SWEEP_AT_LEAST = 1_024

/** What this process knows about one decision that it was admitted to run. */
export interface Turn {
  /** When the decision expires, in milliseconds since 1970. */
  endsAtMs: number
  /** A caller was admitted, and has not given it back. */
  isTaken: boolean
  /** The action began in a turn that was given back. */
  hasBegun: boolean
  /** This process has used up the permit. */
  isRedeemed: boolean
}

/**
 * The decisions that this process was admitted to run, so that it runs none of them twice: if it asks again with the same
 * key and holder, the decision point permits again, and a late answer may permit what has run already.
 */
export class AdmittedDecisions {
  /** One for all clients: a decision point may have several URLs, and ids of decisions are globally unique. */
  static readonly ofProcess = new AdmittedDecisions(ofProcess('turns.1', () => new Map()))

  readonly #turns: Map<string, Turn>
  #sweepAt = SWEEP_AT_LEAST

  constructor(turns = new Map<string, Turn>()) {
    this.#turns = turns
  }

  /** Undefined if another caller has it, or had it and did not give it back. */
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

  /** Forgets only expired decisions: the decision point may still permit a settled one. */
  #sweep(nowMs: number): void {
    for (const [id, { endsAtMs }] of this.#turns) if (endsAtMs <= nowMs) this.#turns.delete(id)
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, this.#turns.size * 2)
  }
}

/** A guard within a guard that asks the same: only the outer one asks, and its decision counts for both. */
import type { Asked } from '../asking/asked.js'
import { canonicalText } from '../asking/request-hash.js'
import type { SettleOnce } from '../settling/settlement.js'
import type { OpenAdmission, WatchedAdmission } from './admission.js'
import type { RunContext } from './run-context.js'

/** What a guard asks, and how strict it is. */
export interface Terms {
  /** One object for each client. */
  readonly client: object
  /** Identifies the guard: the protected function, the point of an integration, or the client of a plain `guard`. */
  readonly site: object
  readonly asked: Asked
  readonly mode: 'enforce' | 'observe'
  readonly runs: 'at-least-once' | 'at-most-once'
}

/** By admission. */
const ofAdmissions = new WeakMap<object, SharedDecision>()

/** The run of an admitted action, for a guard directly within it. */
export class SharedDecision {
  readonly admission: OpenAdmission | WatchedAdmission
  readonly settle: SettleOnce
  /** The run whose decision this one shares, if any. */
  readonly around: SharedDecision | undefined
  readonly #terms: Terms
  /** The sites of all guards that share the decision. */
  readonly #sites: ReadonlySet<object>
  #isShared = false

  constructor(admission: OpenAdmission | WatchedAdmission, settle: SettleOnce, terms: Terms, around?: SharedDecision) {
    this.admission = admission
    this.settle = settle
    this.around = around
    this.#terms = terms
    this.#sites = new Set([...(around === undefined ? [] : around.#sites), terms.site])
    ofAdmissions.set(admission, this)
  }

  static of(admission: object): SharedDecision | undefined {
    return ofAdmissions.get(admission)
  }

  /** The run directly around this code. A run of another copy of the client shares nothing. */
  static around(context: RunContext<SharedDecision>): SharedDecision | undefined {
    const around = context.getStore()
    return around instanceof SharedDecision ? around : undefined
  }

  /**
   * Whether a guard within this run shares its decision: once, and only while the action runs. After that, for another
   * question, and if it is stricter than this guard, it asks itself.
   *
   * @param nested the option of the inner guard
   */
  sharesWith(inner: Terms, nested: 'share' | 'ask' | undefined): boolean {
    const outer = this.#terms
    const isStricter =
      (inner.mode === 'enforce' && outer.mode === 'observe') ||
      (inner.runs === 'at-most-once' && outer.runs === 'at-least-once')
    // A function that calls itself: the same guard again is another run.
    if (this.#sites.has(inner.site)) return false
    if (nested !== 'share' || isStricter || inner.client !== outer.client) return false
    if (this.#isShared || !this.admission.isRunning) return false
    if (canonicalText(inner.asked) !== canonicalText(outer.asked)) return false
    this.#isShared = true
    return true
  }
}

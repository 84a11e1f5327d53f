/** A guard within a guard that asks the same: the outer one asks, and its decision counts for both. */
import type { Json } from '../wire.js'
import type { OpenAdmission, WatchedAdmission } from './admission.js'
import type { Asked } from './arguments/asked.js'
import type { SettleOnce } from './settlement/settle-once.js'

/** What a guard asks, and how strict it is. */
export interface GuardTerms {
  /** One object for each client. */
  readonly client: object
  /** Where the guard stands: the function that is protected, the point of an integration, or the client of a plain `guard`. */
  readonly site: object
  readonly asked: Asked
  readonly mode: 'enforce' | 'observe'
  readonly runs: 'at-least-once' | 'at-most-once'
}

/** By what a guard was admitted with. */
const runs = new WeakMap<object, GuardedRun>()

/** The run of an action that a guard has let through, for a guard right within it. */
export class GuardedRun {
  readonly admission: OpenAdmission | WatchedAdmission
  readonly settle: SettleOnce
  readonly #terms: GuardTerms
  /** Of all guards that share the decision. */
  readonly #sites: ReadonlySet<object>
  #isShared = false

  /** @param around whose decision it shares, if any */
  constructor(admission: OpenAdmission | WatchedAdmission, settle: SettleOnce, terms: GuardTerms, around?: GuardedRun) {
    this.admission = admission
    this.settle = settle
    this.#terms = terms
    this.#sites = new Set([...(around === undefined ? [] : around.#sites), terms.site])
    runs.set(admission, this)
  }

  static of(admission: object): GuardedRun | undefined {
    return runs.get(admission)
  }

  /**
   * Whether a guard within this run relies on its decision: once, and only while the action runs. After that, about anything
   * else, and where the guard is stricter than this one, it asks for itself.
   *
   * @param nested what the guard itself wants
   */
  sharesWith(inner: GuardTerms, nested: 'share' | 'ask' | undefined): boolean {
    const outer = this.#terms
    const isStricter =
      (inner.mode === 'enforce' && outer.mode === 'observe') ||
      (inner.runs === 'at-most-once' && outer.runs === 'at-least-once')
    // The same guard once more is another run: a function that calls itself.
    if (this.#sites.has(inner.site)) return false
    if (nested !== 'share' || isStricter || inner.client !== outer.client) return false
    if (this.#isShared || !this.admission.isRunning || !isSameQuestion(inner.asked, outer.asked)) return false
    this.#isShared = true
    return true
  }
}

function isSameQuestion(one: Asked, other: Asked): boolean {
  return (['agent_id', 'action', 'resource', 'context'] as const).every((name) => isSame(one[name], other[name]))
}

/** Whether two values are the same JSON: the order of members says nothing. */
function isSame(one: Json, other: Json): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [left, right] = [new Map(Object.entries(one)), new Map(Object.entries(other))]
  return left.size === right.size && [...left].every(([name, member]) => isSame(member, right.get(name) as Json))
}

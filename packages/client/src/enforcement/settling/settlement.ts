/** How an action ended, and the one settlement that is sent to the decision point. */
import { knownMembers } from '../../known-options.js'
import { atOnce } from '../at-once.js'

/** What a settlement says. */
export type Settlement =
  | {
      /** The action happened. Without `amount` it cost what was reserved. */
      readonly settle: 'confirm'
      /** What was really spent, in the unit of the budget. */
      readonly amount?: number | undefined
      readonly note?: string | undefined
    }
  /** The action surely did not happen. */
  | { readonly settle: 'reject'; readonly reason?: string | undefined }
  /** The outcome is unknown, or the action is paused: the decision stays as it is until it expires, and then counts as spent. */
  | { readonly settle: 'leave' }

/**
 * How an action that was begun ended.
 *
 * - `succeeded`: by default confirmed, with the `amount` if the action gave one;
 * - `failed`: it ran and failed; by default rejected;
 * - `unknown`: it began, and it is unknown how far it came (a time limit, a caller who left, a lost connection); by default left.
 *
 * The option `onError` settles every outcome that has an `error`.
 */
export type ActionOutcome =
  | { readonly kind: 'succeeded'; readonly value?: unknown; readonly amount?: number | undefined }
  | { readonly kind: 'failed'; readonly error?: unknown }
  | { readonly kind: 'unknown'; readonly error?: unknown }

/** Says what to settle after an outcome; undefined for the default. */
export type SettleOn = (outcome: ActionOutcome) => Settlement | undefined

/**
 * Where a settlement stands.
 *
 * - `settled`: the decision point has it;
 * - `queued`: the decision point could not be reached in time, and gets it in the background;
 * - `refused`: the decision point rejects it, or it is invalid: the decision expires;
 * - `dropped`: given up, because the queue is full or closed: the decision expires;
 * - `left`: there was nothing to send.
 */
export type SettlementState = 'settled' | 'queued' | 'refused' | 'dropped' | 'left'

/** What was settled, by the first call, and where it stands. */
export interface SettlementResult {
  readonly settle: Settlement['settle']
  readonly state: SettlementState
}

/**
 * Settles one admission exactly once, by the first call. Later calls change nothing and return the promise of the first. No
 * call throws or rejects: a failed settlement neither undoes nor hides what the action did.
 */
export interface Settle {
  /** The action happened. Without `amount` it cost what was reserved. */
  confirm(confirmation?: {
    readonly amount?: number | undefined
    readonly note?: string | undefined
  }): Promise<SettlementResult>
  /** The action surely did not happen. */
  reject(reason?: string): Promise<SettlementResult>
  /** The outcome is unknown. */
  leave(): Promise<SettlementResult>
  /**
   * By `settleOn` of the options, else by `onError`, else by the default for the outcome. A function is called immediately,
   * unless the admission is settled already. If it throws, or returns a promise or an invalid outcome, the decision is left
   * open, and `onEvent` gets `settlement_failed`.
   */
  by(outcome: ActionOutcome | (() => ActionOutcome)): Promise<SettlementResult>
  /** True after the first call, and after a pause of the admission: further calls then do nothing. */
  readonly isCalled: boolean
}

/** Longer text than this is refused by the decision point. */
const MAX_TEXT = 512
const MEMBERS = ['settle', 'amount', 'note', 'reason']
const KINDS: ReadonlySet<unknown> = new Set<ActionOutcome['kind']>(['succeeded', 'failed', 'unknown'])
const LEAVE: Settlement = Object.freeze({ settle: 'leave' })

/** The methods can be handed out without the object. */
export class SettleOnce implements Settle {
  readonly #settlementAfter: (outcome: ActionOutcome) => Settlement
  readonly #send: (settlement: Settlement) => Promise<SettlementState>
  readonly #fail: (error: unknown) => void
  #first: Promise<SettlementResult> | undefined
  #within: Settlement | 'running' | undefined

  /**
   * @param send never rejects
   * @param fail is called if there is no valid settlement
   */
  constructor(
    settlementAfter: (outcome: ActionOutcome) => Settlement,
    send: (settlement: Settlement) => Promise<SettlementState>,
    fail: (error: unknown) => void,
  ) {
    this.#settlementAfter = settlementAfter
    this.#send = send
    this.#fail = fail
  }

  get isCalled(): boolean {
    return this.#first !== undefined
  }

  readonly confirm: Settle['confirm'] = (confirmation = {}) => {
    return this.#once(() => {
      // A number has no members to spread: it would confirm all that was reserved.
      if (typeof confirmation !== 'object' || confirmation === null)
        throw new TypeError('a confirmation must be an object, such as { amount }')
      return { ...confirmation, settle: 'confirm' }
    })
  }

  readonly reject: Settle['reject'] = (reason) => this.#once(() => ({ settle: 'reject', reason }))

  readonly leave: Settle['leave'] = () => this.#once(() => LEAVE)

  readonly by: Settle['by'] = (given) => {
    return this.#once(() => this.#settlementAfter(readOutcome(typeof given === 'function' ? given() : given)))
  }

  /** A part of the action has begun that has its own guard, by the same decision. */
  beginWithin(): void {
    this.#within = 'running'
  }

  endWithin(settlement: Settlement): void {
    this.#within = settlement
  }

  /** From now on nothing is settled or reported here. False if it was settled before. */
  pause(): boolean {
    if (this.isCalled) return false
    this.#first = Promise.resolve({ settle: 'leave', state: 'left' })
    return true
  }

  #once(settlement: () => Settlement): Promise<SettlementResult> {
    if (this.#first === undefined) {
      let settle = (_result: Promise<SettlementResult>): void => undefined
      // Set before any function of the caller runs, which may call again.
      this.#first = new Promise((resolve) => {
        settle = resolve
      })
      settle(this.#settle(settlement))
    }
    return this.#first
  }

  async #settle(settlementOf: () => Settlement): Promise<SettlementResult> {
    let settlement: Settlement
    try {
      settlement = whole(readSettlement(settlementOf()), this.#within)
    } catch (error) {
      this.#fail(error)
      return { settle: 'leave', state: 'refused' }
    }
    return { settle: settlement.settle, state: await this.#send(settlement) }
  }
}

/**
 * The settlement of an action of which a part had its own guard with the same decision: rejected only if both reject, and
 * confirmed if the part happened. Everything else is left, because it may have been spent.
 */
function whole(own: Settlement, part: Settlement | 'running' | undefined): Settlement {
  if (part === undefined) return own
  if (part === 'running' || part.settle === 'leave' || own.settle === 'leave') return LEAVE
  if (part.settle === 'reject') return own.settle === 'reject' ? own : LEAVE
  return own.settle === 'confirm' ? { ...own, amount: own.amount ?? part.amount } : part
}

/**
 * A success is confirmed, a failure rejected, and an unknown outcome left, because it may have been spent. `onError` decides
 * about every error, and not about an end without one, such as a caller who left.
 */
export function settlementByDefault(outcome: ActionOutcome, onError: 'reject' | 'leave' | undefined): Settlement {
  if (outcome.kind === 'succeeded') return { settle: 'confirm', amount: outcome.amount }
  const asked = 'error' in outcome ? onError : undefined
  const settle = asked ?? (outcome.kind === 'failed' ? 'reject' : 'leave')
  return settle === 'reject' ? { settle, reason: 'the action failed' } : LEAVE
}

/** @throws TypeError for anything but an outcome, such as a promise */
function readOutcome(given: ActionOutcome): ActionOutcome {
  const outcome = atOnce('the function that gives the outcome', given)
  if (KINDS.has(Object(outcome).kind)) return outcome
  throw new TypeError("an outcome must be of the kind 'succeeded', 'failed' or 'unknown'")
}

/** @throws TypeError for an invalid settlement, such as an amount that is not a number, or a misspelt member */
function readSettlement(given: unknown): Settlement {
  const members: Record<string, unknown> = knownMembers('a member of a settlement', Object(given), MEMBERS)
  const { settle, amount, note, reason } = members
  if (settle === 'leave') return LEAVE
  if (settle === 'reject') return { settle, ...(reason === undefined ? {} : { reason: readText('reason', reason) }) }
  if (settle !== 'confirm') throw new TypeError("a settlement must be 'confirm', 'reject' or 'leave'")
  if (amount !== undefined && !(typeof amount === 'number' && amount >= 0 && amount <= Number.MAX_VALUE)) {
    throw new TypeError('the amount of a confirmation must be a number, 0 or more')
  }
  return {
    settle,
    ...(amount === undefined ? {} : { amount }),
    ...(note === undefined ? {} : { note: readText('note', note) }),
  }
}

/** Cut to what the decision point accepts, so that a long text loses no settlement. */
function readText(name: string, text: unknown): string {
  if (typeof text !== 'string') throw new TypeError(`the ${name} of a settlement must be a string`)
  return text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')
}

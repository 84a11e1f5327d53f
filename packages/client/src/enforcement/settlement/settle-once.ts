import { strangerMessage } from '../../known-options.js'
import { ownMembers } from '../../own-members.js'
import { atOnce } from '../at-once.js'
import type { ActionOutcome, Settle, Settlement, SettlementResult, SettlementState, SettleOn } from './settlement.js'

/** Longer text than this is refused by the decision point. */
const MAX_TEXT = 512
const MEMBERS = ['settle', 'amount', 'note', 'reason']
const KINDS: ReadonlySet<unknown> = new Set<ActionOutcome['kind']>(['succeeded', 'failed', 'unknown'])
const LEAVE: Settlement = Object.freeze({ settle: 'leave' })

/** What one admission settles through. */
export interface SettleOnceOptions {
  /** Never rejects. */
  readonly send: (settlement: Settlement) => Promise<SettlementState>
  /** What was to be settled cannot be told. */
  readonly fail: (error: unknown) => void
  readonly settleOn: SettleOn | undefined
  readonly onError: 'reject' | 'leave' | undefined
}

/** The first call settles; all others get its promise. The methods can be handed out without the object. */
export class SettleOnce implements Settle {
  readonly #options: SettleOnceOptions
  #first: Promise<SettlementResult> | undefined
  #within: Settlement | 'running' | undefined

  constructor(options: SettleOnceOptions) {
    this.#options = options
  }

  get isCalled(): boolean {
    return this.#first !== undefined
  }

  readonly confirm: Settle['confirm'] = (confirmation = {}) => {
    return this.#once(() => {
      // Spread, a number would be no members at all, and all that was reserved would be confirmed.
      if (typeof confirmation !== 'object' || confirmation === null)
        throw new TypeError('a confirmation has to be an object, such as { amount }')
      return { ...confirmation, settle: 'confirm' }
    })
  }

  readonly reject: Settle['reject'] = (reason) => this.#once(() => ({ settle: 'reject', reason }))

  readonly leave: Settle['leave'] = () => this.#once(() => LEAVE)

  readonly by: Settle['by'] = (given) => {
    const { settleOn, onError } = this.#options
    return this.#once(() => {
      const outcome = readOutcome(typeof given === 'function' ? given() : given)
      return atOnce('settleOn', settleOn?.(outcome)) ?? settlementByDefault(outcome, onError)
    })
  }

  /** A part of the action has begun that is guarded itself, by the same decision. */
  beginWithin(): void {
    this.#within = 'running'
  }

  endWithin(settlement: Settlement): void {
    this.#within = settlement
  }

  /** From now on nothing is settled here, and nothing told. False when it was settled before. */
  pause(): boolean {
    if (this.isCalled) return false
    this.#first = Promise.resolve({ settle: 'leave', state: 'left' })
    return true
  }

  #once(settlement: () => Settlement): Promise<SettlementResult> {
    if (this.#first === undefined) {
      let settle = (_result: Promise<SettlementResult>): void => undefined
      // Before anything of the caller's runs, which may call again.
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
      this.#options.fail(error)
      return { settle: 'leave', state: 'refused' }
    }
    return { settle: settlement.settle, state: await this.#options.send(settlement) }
  }
}

/**
 * The settlement of a whole of which a part was guarded by the same decision: rejected only where both say so, and confirmed
 * where the part happened. All else is left, for it may have been spent.
 */
function whole(own: Settlement, part: Settlement | 'running' | undefined): Settlement {
  if (part === undefined) return own
  if (part === 'running' || part.settle === 'leave' || own.settle === 'leave') return LEAVE
  if (part.settle === 'reject') return own.settle === 'reject' ? own : LEAVE
  return own.settle === 'confirm' ? { ...own, amount: own.amount ?? part.amount } : part
}

/**
 * What happened is confirmed, what failed is rejected, and what nobody knows is left: it may have been spent. `onError` speaks
 * for every error, and not for an end without one, such as a caller who left.
 */
function settlementByDefault(outcome: ActionOutcome, onError: SettleOnceOptions['onError']): Settlement {
  if (outcome.kind === 'succeeded') return { settle: 'confirm', amount: outcome.amount }
  const asked = 'error' in outcome ? onError : undefined
  const settle = asked ?? (outcome.kind === 'failed' ? 'reject' : 'leave')
  return settle === 'reject' ? { settle, reason: 'the action failed' } : LEAVE
}

/** @throws TypeError for what is none, such as a promise */
function readOutcome(given: ActionOutcome): ActionOutcome {
  const outcome = atOnce('the function that gives the outcome', given)
  if (KINDS.has(Object(outcome).kind)) return outcome
  throw new TypeError("an outcome has to be of the kind 'succeeded', 'failed' or 'unknown'")
}

/** @throws TypeError for an invalid settlement, such as an amount that is not a number, or a misspelt member */
function readSettlement(given: unknown): Settlement {
  const { settle, amount, note, reason, ...more } = ownMembers(Object(given)) as Record<string, unknown>
  const [stranger] = Reflect.ownKeys(more)
  if (stranger !== undefined) throw new TypeError(strangerMessage('member', 'a settlement', stranger, MEMBERS))
  if (settle === 'leave') return LEAVE
  if (settle === 'reject') return { settle, ...(reason === undefined ? {} : { reason: readText('reason', reason) }) }
  if (settle !== 'confirm') throw new TypeError("a settlement has to be 'confirm', 'reject' or 'leave'")
  if (amount !== undefined && !(typeof amount === 'number' && amount >= 0 && amount <= Number.MAX_VALUE)) {
    throw new TypeError('the amount of a confirmation has to be a number, 0 or more')
  }
  return {
    settle,
    ...(amount === undefined ? {} : { amount }),
    ...(note === undefined ? {} : { note: readText('note', note) }),
  }
}

/** Cut to what the decision point takes: for its sake no settlement is lost. */
function readText(name: string, text: unknown): string {
  if (typeof text !== 'string') throw new TypeError(`the ${name} of a settlement has to be a string`)
  return text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')
}

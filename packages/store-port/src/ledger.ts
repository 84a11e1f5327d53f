/**
 * The ledger: what every budget account has spent and reserved. Amounts are whole numbers of 1e-6 units.
 *
 * What every adapter promises:
 * - Once `Store.commit` has resolved, a balance is the sum of what the decisions count for there (their `postings`), those
 *   apart that it names as unsettled, and of what open reservations hold; until then it is never less. An account that
 *   nobody has used has zeros.
 * - `reserve` takes every amount or none, against all other reservations, in whatever process.
 * - `Store.commit` of a mutation that names the reservation commits it: from then on the decision's own postings count
 *   instead. Every later mutation of the decision moves the balances by the difference of its postings: so it commits,
 *   releases and expires. Whatever crashes, balances and decisions come to agree.
 * - A reservation that no mutation committed is given back by `release`, or by the adapter when the process died.
 * - No call is refused for what it has reserved itself: `reserve` rejects with `CallInProgressError` instead.
 * - A call that cannot be served rejects with `StoreUnavailableError`, or with `BudgetBusyError` when only the account
 *   cannot be written; nothing is known to be reserved then.
 */
import type { AccountKey } from '@countersign/contract'

export interface Balance {
  readonly spent: bigint
  readonly reserved: bigint
}

/** What one budget is asked for. Without a limit there is always room. */
export interface BudgetDemand {
  readonly account: AccountKey
  readonly amount: bigint
  readonly limit: bigint | null
}

export interface ReservationRequest {
  readonly decision_id: string
  /** The version that the decision has; 0 when it is not written yet. */
  readonly version: number
  /** At least one; no account twice. */
  readonly demands: readonly BudgetDemand[]
  /** Names what asks, in whatever process; whoever asks by the same name is the same call, tried again or beside itself. */
  readonly call?: string
}

export interface ReservationAnswer {
  /** Names the reservation in the mutation that commits it. Null: some account has no room, and nothing was taken. */
  readonly reservation: string | null
  /** For each demand in order: right after the reservation, or as it stood when there was no room. */
  readonly balances: readonly Balance[]
}

export interface Ledger {
  /** Room is there while spent + reserved + amount is at most the limit. */
  reserve(request: ReservationRequest): Promise<ReservationAnswer>
  /**
   * Ends a reservation whose mutation is settled: written, in conflict or never sent. What a mutation committed stays;
   * anything else is given back. Never rejects.
   */
  release(reservation: string): Promise<void>
  /** The balances as a reservation would meet them. */
  balances(accounts: readonly AccountKey[]): Promise<readonly Balance[]>
}

/** So many write one account at once that this one did not get through in time. Nothing was reserved. */
export class BudgetBusyError extends Error {
  override readonly name = 'BudgetBusyError'
}

/** There is no room, and some of it is taken by the same call: ask again once it is known what became of that. */
export class CallInProgressError extends Error {
  override readonly name = 'CallInProgressError'
}

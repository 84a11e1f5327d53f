/**
 * The ledger: what every budget account has spent and reserved. Amounts are whole numbers of 1e-6 units.
 *
 * What every adapter promises:
 * - Once `Store.commit` has resolved, a balance is the sum of the `postings` of the decisions in the account, except
 *   those that the result names as unsettled, plus the open reservations; until then it is never less. An unused
 *   account has zeros.
 * - `reserve` takes every amount or none, against all other reservations, in all processes.
 * - `Store.commit` of a mutation that names the reservation commits it: from then on the decision's own postings count
 *   instead. Every later mutation of the decision moves the balances by the difference of its postings: this is how it
 *   commits, releases and expires. After any crash, balances and decisions become consistent again.
 * - A reservation that no mutation committed is given back by `release`, or by the adapter when the process died.
 * - No call is refused because of its own reservation: `reserve` rejects with `CallInProgressError` instead.
 * - A call that cannot be served rejects with `StoreUnavailableError`, or with `BudgetBusyError` when only the account
 *   cannot be written; nothing is known to be reserved then.
 */
import type { AccountKey } from '@countersign/contract'

export interface Balance {
  readonly spent: bigint
  readonly reserved: bigint
}

/** The amount that one budget is asked for. Without a limit there is always room. */
export interface BudgetDemand {
  readonly account: AccountKey
  readonly amount: bigint
  readonly limit: bigint | null
}

export interface ReservationRequest {
  readonly decision_id: string
  /** The version of the decision; 0 when it is not written yet. */
  readonly version: number
  /** At least one; no account twice. */
  readonly demands: readonly BudgetDemand[]
  /**
   * Identifies the call across processes. Two requests with the same name are the same call, repeated or concurrent.
   */
  readonly call?: string
}

export interface ReservationAnswer {
  /**
   * The name of the reservation for the mutation that commits it. Null: some account has no room, and nothing was
   * taken.
   */
  readonly reservation: string | null
  /** For each demand, in order: the balance right after the reservation, or the present one when there was no room. */
  readonly balances: readonly Balance[]
}

export interface Ledger {
  /** There is room while spent + reserved + amount is at most the limit. */
  reserve(request: ReservationRequest): Promise<ReservationAnswer>
  /**
   * Ends a reservation whose mutation is settled: written, in conflict or never sent. The part that a mutation
   * committed stays; the rest is given back. Never rejects.
   */
  release(reservation: string): Promise<void>
  /** Returns the balances as a reservation would see them. */
  balances(accounts: readonly AccountKey[]): Promise<readonly Balance[]>
}

/** Too many writers use one account at once, and this one did not get through in time. Nothing was reserved. */
export class BudgetBusyError extends Error {
  override readonly name = 'BudgetBusyError'
}

/** There is no room, and the same call holds part of it: try again once the outcome of that call is known. */
export class CallInProgressError extends Error {
  override readonly name = 'CallInProgressError'
}

/** What the settling of a decision does to its outcome and to what it counts for in its budgets. Pure. */
import type { JsonArray, Outcome } from '@countersign/contract'
import { fromMicro, toMicro } from '@countersign/engine'
import type { Posting, StoredDecision } from '@countersign/store-port/documents'
import { presentStatus, wasAuthorized } from '../status.js'

/** What became of the action. `amount` was really spent; null: each budget its reserved amount. */
export type Result = { readonly result: 'confirmed'; readonly amount: number | null } | { readonly result: 'rejected' }

const DAY_MS = 86_400_000
/** So long after its end a decision can still be confirmed, rejected or corrected. */
export const LATE_MS = 30 * DAY_MS

type Settled = Pick<StoredDecision, 'status' | 'outcome' | 'postings'>

/** A decision as it is once its outcome is known. */
export function settle(
  decision: StoredDecision,
  result: Result,
  outcome: Pick<Outcome, 'at' | 'note' | 'late' | 'corrected'>,
): Settled {
  const { at, note, late, corrected } = outcome
  return {
    status: result.result,
    outcome: {
      result: result.result,
      amount: effectiveAmount(decision, result),
      note,
      at,
      late,
      overage: isOverage(decision, result),
      corrected,
    },
    postings: decision.postings.map((posting) => spend(posting, spentOf(posting, result))),
  }
}

/** Whether the outcome says the same already: result and effective amount, whatever budgets that read another amount count. */
export function isSettledSo(decision: StoredDecision, result: Result): boolean {
  const { outcome } = decision
  return outcome !== null && outcome.result === result.result && outcome.amount === effectiveAmount(decision, result)
}

/** Whether every budget has committed just what it would: two amounts read as one outcome where a budget reads another fact. */
export function isCommittedSo({ postings }: StoredDecision, result: Result): boolean {
  return postings.every((posting) => BigInt(posting.spent) === spentOf(posting, result))
}

/** What each budget committed, for the audit log: amounts in its unit, in the order of the budgets asked. */
export function committed(decision: StoredDecision, postings: readonly Posting[]): JsonArray {
  return postings.map(({ spent }, i) => ({
    policy_id: decision.budgets[i]?.policy_id ?? null,
    unit: decision.budgets[i]?.unit ?? null,
    amount: fromMicro(BigInt(spent)),
  }))
}

/** What is settled without an outcome: as spent when the action may have run, for confirming is optional, else as nothing. */
export function settleUnsaid(decision: StoredDecision): readonly Posting[] {
  return decision.postings.map((posting) => spend(posting, wasAuthorized(decision) ? BigInt(posting.amount) : 0n))
}

/** What gives the reservation back. */
export function releaseAll(decision: StoredDecision): readonly Posting[] {
  return decision.postings.map((posting) => spend(posting, 0n))
}

/** Whether a confirmation takes less than some budget reserved that reads its amount. */
export function isBelowReservation(decision: StoredDecision, amount: number | null): boolean {
  return amount !== null && readingPostings(decision).some((posting) => toMicro(amount) < BigInt(posting.amount))
}

/** Whether the decision expired after it was authorized, and not so long ago that it is closed. */
export function isOpenForLate(decision: StoredDecision, now: string): boolean {
  return presentStatus(decision, now) === 'expired' && wasAuthorized(decision) && isBeforeClosing(decision, now)
}

export function isBeforeClosing(decision: StoredDecision, now: string): boolean {
  return Date.parse(now) < Date.parse(decision.expires_at) + LATE_MS
}

function effectiveAmount(decision: StoredDecision, result: Result): number | null {
  if (result.result === 'rejected') return null
  if (result.amount !== null) return fromMicro(toMicro(result.amount))
  const [first] = readingPostings(decision)
  return first === undefined ? null : fromMicro(BigInt(first.amount))
}

function isOverage(decision: StoredDecision, result: Result): boolean {
  if (result.result === 'rejected' || result.amount === null) return false
  const spent = toMicro(result.amount)
  return readingPostings(decision).some((posting) => spent > BigInt(posting.amount))
}

function readingPostings(decision: StoredDecision): Posting[] {
  return decision.postings.filter((posting) => posting.reads_amount)
}

function spentOf(posting: Posting, result: Result): bigint {
  if (result.result === 'rejected') return 0n
  return posting.reads_amount && result.amount !== null ? toMicro(result.amount) : BigInt(posting.amount)
}

function spend(posting: Posting, spent: bigint): Posting {
  return { ...posting, spent: String(spent), reserved: '0' }
}

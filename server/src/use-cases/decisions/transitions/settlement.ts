/** Computes the outcome of a settled decision and the amounts that it commits in its budgets. Pure. */
import { fromMicro, type JsonArray, type JsonObject, type Outcome, toMicro } from '@countersign/contract'
import type { Posting, StoredDecision } from '../../../ports/store/documents.js'
import { wasAuthorized } from '../status.js'

/** The result of the action. `amount` is what was really spent; null: each budget commits its reserved amount. */
export type Result = { readonly result: 'confirmed'; readonly amount: number | null } | { readonly result: 'rejected' }

const DAY_MS = 86_400_000
/** A decision can still be confirmed, rejected or corrected for this long after it expired. */
export const LATE_MS = 30 * DAY_MS

interface Settled {
  readonly changes: Pick<StoredDecision, 'status' | 'outcome' | 'postings'>
  /** Data for the audit entry. */
  readonly data: JsonObject
}

/** What changes in a decision once its outcome is known. */
export function settle(
  decision: StoredDecision,
  result: Result,
  { at, note, late, corrected }: Pick<Outcome, 'at' | 'note' | 'late' | 'corrected'>,
): Settled {
  const outcome = {
    result: result.result,
    amount: effectiveAmount(decision, result),
    note,
    at,
    late,
    overage: isOverage(decision, result),
    corrected,
  }
  const postings = decision.postings.map((posting) => spend(posting, spentOf(posting, result)))
  return {
    changes: { status: result.result, outcome, postings },
    data: { outcome, committed: committed(decision, postings) },
  }
}

/** Whether the decision already has this result and effective amount. Budgets that read another fact do not matter. */
export function isSettledAs(decision: StoredDecision, result: Result): boolean {
  const { outcome } = decision
  return outcome !== null && outcome.result === result.result && outcome.amount === effectiveAmount(decision, result)
}

/**
 * Whether every budget has already committed what this result commits. Two amounts may round to one outcome but commit
 * different sums.
 */
export function isCommittedAs({ postings }: StoredDecision, result: Result): boolean {
  return postings.every((posting) => BigInt(posting.spent) === spentOf(posting, result))
}

/**
 * For the audit log: what each budget committed now, had committed before, and had reserved until now. Amounts are in
 * the budget's unit, in the order of the decision's budgets.
 */
export function committed(decision: StoredDecision, postings: readonly Posting[]): JsonArray {
  return postings.map(({ spent }, i) => ({
    policy_id: decision.budgets[i]?.policy_id ?? null,
    unit: decision.budgets[i]?.unit ?? null,
    amount: fromMicro(BigInt(spent)),
    was: fromMicro(BigInt(decision.postings[i]?.spent ?? 0)),
    reserved: fromMicro(BigInt(decision.postings[i]?.reserved ?? 0)),
  }))
}

/**
 * The postings of a decision that expires without an outcome. Confirming is optional, so everything counts as spent if
 * the action may have run; otherwise nothing does.
 */
export function settleWithoutOutcome(decision: StoredDecision): readonly Posting[] {
  return decision.postings.map((posting) => spend(posting, wasAuthorized(decision) ? BigInt(posting.amount) : 0n))
}

/** The postings that release the whole reservation. */
export function releaseAll(decision: StoredDecision): readonly Posting[] {
  return decision.postings.map((posting) => spend(posting, 0n))
}

/** Whether the confirmed amount is below what a budget that reads the amount has reserved. */
export function isBelowReservation(decision: StoredDecision, amount: number | null): boolean {
  return amount !== null && readingPostings(decision).some((posting) => toMicro(amount) < BigInt(posting.amount))
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

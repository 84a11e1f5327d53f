/** One decision of the reference: what the clock makes of it, and what it counts for in the accounts. */
import type { Account, AskedBudget, Balance } from './reference-budgets.js'
import type { ReferenceRequest } from './reference-policies.js'

export const TTL_MS = { authorized: 300_000, awaiting_review: 86_400_000, approved: 3_600_000 } as const
const LATE_MS = 30 * 86_400_000

interface Outcome {
  readonly result: 'confirmed' | 'rejected'
  readonly amount: bigint | null
  readonly late: boolean
  readonly overage: boolean
  readonly corrected: boolean
}

interface Posting {
  readonly account: Account
  readonly amount: bigint
  readonly readsAmount: boolean
}

export interface ReferenceDecision {
  readonly request: ReferenceRequest
  readonly effect: string
  readonly reason_code: string
  readonly policy_id: string
  readonly rule: number | null
  /** As last written: the clock may have ended it since. */
  status: string
  expiresMs: number
  budgets: readonly object[]
  postings: readonly Posting[]
  outcome: Outcome | null
  /** The amount that came with the confirmation. */
  given: bigint | null
  review: string | null
  /** Null while nobody may run it. */
  holder: { readonly name: string | null } | null
  isClaimed: boolean
  /** It was authorized at some time. */
  wasAuthorized: boolean
  isRedeemed: boolean
}

export function statusOf({ status, expiresMs }: ReferenceDecision, nowMs: number): string {
  return Object.hasOwn(TTL_MS, status) && nowMs >= expiresMs ? 'expired' : status
}

export function reviewOf({ status, expiresMs, review }: ReferenceDecision, nowMs: number): string | null {
  const isUndecided = status === 'awaiting_review' || status === 'approved'
  return isUndecided && nowMs >= expiresMs ? 'expired' : review
}

/** Whether what was authorized may still be settled or corrected. */
export function isInTime({ expiresMs }: ReferenceDecision, nowMs: number): boolean {
  return nowMs < expiresMs + LATE_MS
}

export function postingsOf(asked: readonly AskedBudget[]): Posting[] {
  return asked.map(({ account, amount, readsAmount }) => ({ account, amount: amount as bigint, readsAmount }))
}

/** What an outcome without an amount means. */
export function defaultAmount({ postings }: ReferenceDecision): bigint | null {
  return postings.find(({ readsAmount }) => readsAmount)?.amount ?? null
}

/** What the decision counts for in the account of each of its postings. */
export function* counts(
  decision: ReferenceDecision,
  nowMs: number,
): Generator<Balance & { readonly account: Account }> {
  const status = statusOf(decision, nowMs)
  for (const { account, amount, readsAmount } of decision.postings) {
    if (status === 'approved' || status === 'authorized') yield { account, spent: 0n, reserved: amount }
    // Confirming is optional: what was authorized and never settled counts as spent.
    else if (status === 'expired' && decision.wasAuthorized) yield { account, spent: amount, reserved: 0n }
    // Without an amount each budget commits its own reservation, whatever another one reserved.
    else if (status === 'confirmed')
      yield { account, spent: readsAmount ? (decision.given ?? amount) : amount, reserved: 0n }
    else yield { account, spent: 0n, reserved: 0n }
  }
}

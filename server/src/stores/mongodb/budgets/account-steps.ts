/**
 * The changes of an account, as pure steps on its document. The write of the result is conditional on `v`. An account's
 * totals are at every moment a sum over decisions. For each decision, the mark of its settlement counts; without one,
 * the mark of its committed reservation; without that, the booked amount. Marks of other reservations count in addition
 * until they are removed.
 */
import type { AccountKey } from '@countersign/contract'
import type { AccountDocument, Amounts, DecisionDocument, Mark } from '../stored.js'
import { accountKeyOf } from './account-id.js'

export const NOTHING: Amounts = { spent: '0', reserved: '0', n: 0 }

/** An account document that is being changed. */
export interface Draft extends Omit<AccountDocument, 'spent' | 'reserved' | 'marks'> {
  spent: bigint
  reserved: bigint
  is_used: boolean
  marks: Record<string, Mark>
  isChanged: boolean
}

/** A new account has version 0 until it is written. */
export function newAccount(id: string, text: string, opened: string): AccountDocument {
  const { policy_id, unit, period, starts_at, agent_id }: AccountKey = accountKeyOf(text)
  return {
    _id: id,
    v: 0,
    spent: '0',
    reserved: '0',
    is_reserved: false,
    marked_ms: null,
    is_used: false,
    opened,
    policy_id,
    unit,
    period,
    starts_at,
    agent_id,
    marks: {},
  }
}

/** Orders accounts by time, then by a number of the process. */
export function openedAt(nowMs: number, number: number, id: string): string {
  return `${String(nowMs).padStart(16, '0')}-${String(number).padStart(9, '0')}-${id}`
}

/** The number in a text of `openedAt`. */
export function openingOrder(opened: string): number {
  return Number(opened.split('-')[1])
}

export function draftOf(account: AccountDocument): Draft {
  const { spent, reserved, marks } = account
  return { ...account, spent: BigInt(spent), reserved: BigInt(reserved), marks: { ...marks }, isChanged: false }
}

export function accountOf({ isChanged: _, ...draft }: Draft): AccountDocument {
  const times = Object.values(draft.marks).map(({ at_ms }) => at_ms)
  return {
    ...draft,
    v: draft.v + 1,
    spent: String(draft.spent),
    reserved: String(draft.reserved),
    is_reserved: draft.reserved !== 0n,
    marked_ms: times.length === 0 ? null : Math.min(...times),
  }
}

/** Takes an amount for a reservation. */
export function reserve(draft: Draft, attempt: string, mark: Omit<Mark, 'attempt'>): void {
  draft.reserved += BigInt(mark.reserved)
  draft.marks[attempt] = { ...mark, attempt }
  draft.isChanged = true
}

/** Removes a reservation that can never be committed. Does nothing when it is missing. */
export function remove(draft: Draft, attempt: string): void {
  const mark = draft.marks[attempt]
  if (mark === undefined) return
  draft.spent -= BigInt(mark.spent)
  draft.reserved -= BigInt(mark.reserved)
  drop(draft, attempt)
}

/** Drops the marks of a decision that are booked up to `n` in it. */
export function forget(draft: Draft, decision: string, attempt: string | null, n: number): void {
  for (const name of attempt === null ? [decision] : [attempt, decision]) {
    const mark = draft.marks[name]
    if (mark === undefined || mark.n > n) continue
    // The mark of a settlement replaces that of the reservation, which was committed with it.
    drop(draft, name)
    draft.is_used = true
  }
}

/** What a decision owes to its accounts. */
export type Owing = Pick<DecisionDocument, '_id' | 'ledger' | 'attempt'>

/**
 * Moves the totals to the amounts that a decision owes, in the mark of a settlement. The decision must be read after
 * the account. Returns true when the totals include these amounts, before or after this step.
 */
export function settle(draft: Draft, { _id, ledger, attempt }: Owing, nowMs: number): void {
  const line = ledger[draft._id]
  if (line === undefined) return
  const present = ownMark(draft, _id, attempt) ?? line.booked
  draft.is_used ||= true
  if (present.n >= line.due.n) return
  draft.spent += BigInt(line.due.spent) - BigInt(present.spent)
  draft.reserved += BigInt(line.due.reserved) - BigInt(present.reserved)
  if (attempt !== null) delete draft.marks[attempt]
  draft.marks[_id] = { ...line.due, decision: _id, attempt: null, rev: null, at_ms: nowMs }
  draft.isChanged = true
}

export function ownMark(draft: Pick<Draft, 'marks'>, decision: string, attempt: string | null): Mark | undefined {
  return draft.marks[decision] ?? (attempt === null ? undefined : draft.marks[attempt])
}

/** Drops a mark whose amount is booked. */
function drop(draft: Draft, name: string): void {
  delete draft.marks[name]
  draft.isChanged = true
}

import { accountText } from '../../../ports/store/accounts.js'
import type { Posting } from '../../../ports/store/documents.js'
import type { Amounts, LedgerLine } from '../stored.js'
import { accountId } from './account-id.js'
import { NOTHING } from './account-steps.js'
import type { Reservation } from './reservation.js'

type Lines = Readonly<Record<string, LedgerLine>>

/**
 * Returns the amounts that a decision owes from now on: its former lines and its postings. The holds of a reservation
 * that is committed with it are booked already: their marks count until they are dropped.
 */
export function nextLines(before: Lines, postings: readonly Posting[], reservation: Reservation | null): Lines {
  const lines: Record<string, LedgerLine> = {}
  for (const [id, { key, due, booked }] of Object.entries(before))
    lines[id] = { key, due: isNothing(due) ? due : { ...NOTHING, n: due.n + 1 }, booked }
  for (const { id, text, amount } of reservation?.holds ?? [])
    lines[id] = { key: text, due: { ...NOTHING, n: 1 }, booked: { spent: '0', reserved: String(amount), n: 0 } }
  for (const { account, spent, reserved } of postings) {
    const id = accountId(account)
    const line = before[id] ?? lines[id]
    const booked = line?.booked ?? NOTHING
    // A hold of this reservation counts unchanged; any other line must be moved to the new amount.
    const present = before[id]?.due ?? (line === undefined ? null : booked)
    const due =
      present !== null && sameAmounts(present, { spent, reserved })
        ? present
        : { spent, reserved, n: (present?.n ?? 0) + 1 }
    lines[id] = { key: line?.key ?? accountText(account), due, booked }
  }
  return lines
}

/** Returns the lines of a decision whose accounts include its postings already. */
export function bookedLines(postings: readonly Posting[]): Lines {
  return Object.fromEntries(
    postings.map(({ account, spent, reserved }) => {
      const amounts = { spent, reserved, n: 1 }
      return [accountId(account), { key: accountText(account), due: amounts, booked: amounts }]
    }),
  )
}

/** A record can commit a reservation only when none of its accounts has a line of the decision yet. */
export function canCommit(before: Lines, { holds }: Reservation): boolean {
  return holds.every(({ id }) => before[id] === undefined)
}

export function hasUnsettled(lines: Lines): boolean {
  return Object.values(lines).some(isUnsettled)
}

export function isUnsettled({ due, booked }: LedgerLine): boolean {
  return due.n !== booked.n
}

function isNothing({ spent, reserved }: Amounts): boolean {
  return spent === '0' && reserved === '0'
}

function sameAmounts(one: Omit<Amounts, 'n'>, other: Omit<Amounts, 'n'>): boolean {
  return one.spent === other.spent && one.reserved === other.reserved
}

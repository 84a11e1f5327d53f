/** Computes account sums from entries while some of the entries are still being written. */
import type { AuditEntry } from '@countersign/contract'
import { type Counted, countedAfter, moveOf, nameOf } from '../export/recomputed-budgets.js'
import type { RecordDifference } from './comparison.js'

/** An account as a store holds it: amounts in millionths, as text. */
export interface AccountRecord {
  readonly policy_id: string
  readonly unit: string
  readonly period: string
  readonly agent_id: string | null
  readonly starts_at: string | null
  readonly spent: string
  readonly reserved: string
}

interface Range {
  least: bigint
  most: bigint
}
type Ranges = Readonly<Record<'spent' | 'reserved', Range>>

/**
 * An account that was read at some moment may or may not include the changes of later entries, so it must lie in a
 * range.
 */
export class AccountRanges {
  readonly #accounts = new Map<string, Ranges>()

  /**
   * Takes all entries of one decision.
   *
   * @param entries in the order of its changes
   * @param isLater whether an entry may have been written after the accounts were read
   */
  add(entries: readonly AuditEntry[], isLater: (entry: AuditEntry) => boolean): void {
    const first = entries.findIndex(isLater)
    const states: (readonly Counted[])[] = []
    for (let count = first === -1 ? entries.length : first; count <= entries.length; count += 1)
      states.push(
        countedAfter(
          entries
            .slice(0, count)
            .map(moveOf)
            .filter((move) => move !== null),
        ),
      )
    const names = new Set(states.flatMap((state) => state.map(({ row }) => nameOf(row))))
    for (const name of names)
      for (const member of ['spent', 'reserved'] as const) {
        const amounts = states.map((state) => sumOf(state, name, member)).sort((one, other) => (one < other ? -1 : 1))
        const range = this.#rangeOf(name)[member]
        range.least += amounts[0] ?? 0n
        range.most += amounts.at(-1) ?? 0n
      }
  }

  /** Yields accounts that differ from their entries. @param records each account once */
  *differences(records: Iterable<readonly [id: string, account: AccountRecord]>): Generator<{
    readonly account: Pick<AccountRecord, 'starts_at'>
    readonly difference: RecordDifference
  }> {
    const missing = new Set(this.#accounts.keys())
    for (const [id, account] of records) {
      missing.delete(nameOf(account))
      yield* this.#compared(id, account)
    }
    for (const name of missing) {
      const [policy_id, unit, period, agent_id, starts_at] = JSON.parse(name)
      const account = { policy_id, unit, period, agent_id, starts_at, spent: '0', reserved: '0' }
      yield* this.#compared(accountId(account), account)
    }
  }

  *#compared(id: string, account: AccountRecord) {
    const ranges = this.#accounts.get(nameOf(account)) ?? emptyRanges()
    for (const member of ['spent', 'reserved'] as const) {
      const { least, most } = ranges[member]
      const stored = BigInt(account[member])
      if (stored >= least && stored <= most) continue
      const logged = least === most ? decimal(least) : `${decimal(least)} to ${decimal(most)}`
      const said = { member, logged, stored: decimal(stored), entry: null, later_entry: null }
      yield { account, difference: { kind: 'account', id, ...said } as const }
    }
  }

  #rangeOf(name: string): Ranges {
    const known = this.#accounts.get(name)
    if (known !== undefined) return known
    const made = emptyRanges()
    this.#accounts.set(name, made)
    return made
  }
}

/** Returns the id of an account among records: the members of its key, in sequence. */
export function accountId({
  policy_id,
  agent_id,
  unit,
  period,
  starts_at,
}: Omit<AccountRecord, 'spent' | 'reserved'>): string {
  return [policy_id, agent_id, unit, period, starts_at].filter((part) => part !== null).join(' ')
}

function emptyRanges(): Ranges {
  return { spent: { least: 0n, most: 0n }, reserved: { least: 0n, most: 0n } }
}

function sumOf(state: readonly Counted[], name: string, member: 'spent' | 'reserved'): bigint {
  return state.reduce((sum, counted) => (nameOf(counted.row) === name ? sum + counted[member] : sum), 0n)
}

/** Converts to the unit of the budget, exactly. */
function decimal(micro: bigint): string {
  const sign = micro < 0n ? '-' : ''
  const digits = String(micro < 0n ? -micro : micro).padStart(7, '0')
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}

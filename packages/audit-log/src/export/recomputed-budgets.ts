/** The budget accounts that entries of an audit log add up to, and where an entry contradicts those before it. */
import type { AuditEntry } from '@countersign/contract'
import { fromMicro, isBudgetAmount, toMicro } from '@countersign/contract/micro'
import { LineError, placeOf } from './line.js'

/** What makes an account one, and what it comes to: amounts in its unit. */
export interface RecomputedAccount {
  readonly policy_id: string
  readonly unit: string
  readonly period: string
  readonly agent_id: string | null
  readonly starts_at: string | null
  readonly spent: number
  readonly reserved: number
}

/** An entry names an amount that does not follow from the entries before it. */
export interface BudgetDifference {
  readonly decision_id: string
  readonly entry: Pick<AuditEntry, 'id' | 'log' | 'index'>
  readonly policy_id: string
  readonly unit: string
  readonly member: 'was' | 'reserved'
  /** In the unit of the budget: in the entry, and by the entries before it. */
  readonly logged: number
  readonly recomputed: number
}

/** What an entry says of one budget of a decision. */
interface Row {
  readonly policy_id: string
  readonly unit: string
  readonly period: string
  readonly starts_at: string | null
  readonly agent_id: string | null
  /** In millionths. */
  readonly reserved: bigint
}

interface Settled {
  readonly amount: bigint
  readonly was: bigint
  readonly reserved: bigint
}

/** A change of a decision that moved money. */
interface Move {
  readonly version: number
  readonly entry: BudgetDifference['entry']
  /** The reservation that it made; null: none. */
  readonly rows: readonly Row[] | null
  /** By budget, in the order of the rows; null: it settled nothing. */
  readonly settled: readonly Settled[] | null
}

/**
 * Takes entries in any order: a decision is made in one log and may be settled in another. Entries of releases that did not
 * record versions are passed over. Its memory grows with the decisions that have budgets.
 */
export class RecomputedBudgets {
  readonly #moves = new Map<string, Move[]>()

  /** @throws LineError when something in the entry that stands for an amount is none */
  add(entry: AuditEntry): void {
    const { id, log, index, type, subject, data } = entry
    if (!type.startsWith('decision.') || typeof data.version !== 'number') return
    const rows = data.accounts === undefined ? null : rowsOf(entry)
    const settled = data.committed === undefined ? null : settledOf(entry)
    if (rows === null && (settled === null || settled.length === 0)) return
    const moves = this.#moves.get(subject) ?? []
    this.#moves.set(subject, moves)
    moves.push({ version: data.version, entry: { id, log, index }, rows, settled })
  }

  /** In the order of their keys. */
  accounts(): RecomputedAccount[] {
    return this.#fold().accounts
  }

  differences(): BudgetDifference[] {
    return this.#fold().differences
  }

  #fold(): { accounts: RecomputedAccount[]; differences: BudgetDifference[] } {
    const totals = new Map<string, { row: Row; spent: bigint; reserved: bigint }>()
    const differences: BudgetDifference[] = []
    for (const [decisionId, moves] of this.#moves) {
      moves.sort((one, other) => one.version - other.version)
      let state: { row: Row; reserved: bigint; spent: bigint }[] = []
      for (const { entry, rows, settled } of moves) {
        if (rows !== null) state = rows.map((row) => ({ row, reserved: row.reserved, spent: 0n }))
        settled?.forEach(({ amount, was, reserved }, i) => {
          const budget = state[i]
          if (budget === undefined) return
          const { policy_id, unit } = budget.row
          for (const [member, logged, recomputed] of [
            ['was', was, budget.spent],
            ['reserved', reserved, budget.reserved],
          ] as const)
            if (logged !== recomputed)
              differences.push({
                ...{ decision_id: decisionId, entry, policy_id, unit, member },
                ...{ logged: fromMicro(logged), recomputed: fromMicro(recomputed) },
              })
          budget.spent = amount
          budget.reserved = 0n
        })
      }
      for (const { row, reserved, spent } of state) {
        const name = nameOf(row)
        const total = totals.get(name) ?? { row, spent: 0n, reserved: 0n }
        totals.set(name, { row, spent: total.spent + spent, reserved: total.reserved + reserved })
      }
    }
    const inOrder = [...totals].sort(([one], [other]) => (one < other ? -1 : 1))
    const accounts = inOrder.map(([, { row, spent, reserved }]) => {
      const { policy_id, unit, period, agent_id, starts_at } = row
      return { policy_id, unit, period, agent_id, starts_at, spent: fromMicro(spent), reserved: fromMicro(reserved) }
    })
    return { accounts, differences }
  }
}

function rowsOf(entry: AuditEntry): Row[] {
  const { budgets, accounts } = entry.data
  return objects(budgets).map((budget, i) => ({
    policy_id: String(budget.policy_id),
    unit: String(budget.unit).toLowerCase(),
    period: String(budget.period),
    starts_at: textOrNull(budget.starts_at),
    agent_id: textOrNull(objects(accounts)[i]?.agent_id),
    reserved: budget.reserved === true ? amountOf(budget, 'amount', entry) : 0n,
  }))
}

function settledOf(entry: AuditEntry): Settled[] {
  return objects(entry.data.committed).map((budget) => ({
    amount: amountOf(budget, 'amount', entry),
    was: amountOf(budget, 'was', entry),
    reserved: amountOf(budget, 'reserved', entry),
  }))
}

function nameOf({ policy_id, unit, period, agent_id, starts_at }: Row): string {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}

function objects(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : []
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function amountOf(budget: Readonly<Record<string, unknown>>, member: string, entry: AuditEntry): bigint {
  const amount = budget[member]
  if (isBudgetAmount(amount)) return toMicro(amount)
  throw new LineError(
    `${member} of a budget is ${JSON.stringify(amount)}, which is no amount: ${placeOf(entry)}.`,
    entry,
  )
}

/** The budget accounts that the entries of an audit log add up to, and the entries that contradict earlier ones. */
import type { AuditEntry } from '@countersign/contract'
import { fromMicro, isBudgetAmount, toMicro } from '@countersign/contract/micro'
import { LineError, placeOf } from './line.js'

/** The members that identify an account, and its sums: amounts in its unit. */
export interface RecomputedAccount {
  readonly policy_id: string
  readonly unit: string
  readonly period: string
  readonly agent_id: string | null
  readonly starts_at: string | null
  readonly spent: number
  readonly reserved: number
}

/** An entry names an amount that does not follow from the earlier entries. */
export interface BudgetDifference {
  readonly decision_id: string
  readonly entry: Pick<AuditEntry, 'id' | 'log' | 'index'>
  readonly policy_id: string
  readonly unit: string
  readonly member: 'was' | 'reserved'
  /** In the unit of the budget: as logged, and as computed from the earlier entries. */
  readonly logged: number
  readonly recomputed: number
}

/** The part of an entry about one budget of a decision. */
export interface Row {
  readonly policy_id: string
  readonly unit: string
  readonly period: string
  readonly starts_at: string | null
  readonly agent_id: string | null
  readonly is_reserved: boolean
  /** Undefined in entries of older releases. */
  readonly reads_amount: boolean | undefined
  /** In millionths. */
  readonly reserved: bigint
}

/** The amount of a decision in one budget, in millionths. */
export interface Counted {
  readonly row: Row
  readonly spent: bigint
  readonly reserved: bigint
}

export interface Settled {
  readonly amount: bigint
  readonly was: bigint
  readonly reserved: bigint
}

/** A change of a decision that moved money. */
export interface Move {
  readonly version: number
  readonly entry: BudgetDifference['entry']
  /** The reservation of the change; null: none. */
  readonly rows: readonly Row[] | null
  /** By budget, in the order of the rows; null: it settled nothing. */
  readonly settled: readonly Settled[] | null
}

/**
 * Returns the change of money in an entry of a decision; null when there is none.
 *
 * @throws LineError when an amount in the entry is invalid
 */
export function moveOf(entry: AuditEntry): Move | null {
  const { id, log, index, type, data } = entry
  if (!type.startsWith('decision.') || typeof data.version !== 'number') return null
  const rows = data.accounts === undefined ? null : rowsOf(entry)
  const settled = data.committed === undefined ? null : settledOf(entry)
  if (rows === null && (settled === null || settled.length === 0)) return null
  return { version: data.version, entry: { id, log, index }, rows, settled }
}

/**
 * Returns the amounts of a decision after these moves, in the order of their versions.
 *
 * @param onSettled called for each settlement, with the former amount of the budget
 */
export function countedAfter(
  moves: readonly Move[],
  onSettled: (move: Move, before: Counted, settled: Settled) => void = () => {},
): Counted[] {
  let counted: Counted[] = []
  for (const move of moves) {
    if (move.rows !== null) counted = move.rows.map((row) => ({ row, reserved: row.reserved, spent: 0n }))
    move.settled?.forEach((settled, i) => {
      const before = counted[i]
      if (before === undefined) return
      onSettled(move, before, settled)
      counted[i] = { row: before.row, spent: settled.amount, reserved: 0n }
    })
  }
  return counted
}

/** Whether the entry comes from an older release, and from a decision whose budgets are unknown. */
function isUnnamed({ type, data }: AuditEntry): boolean {
  if (!type.startsWith('decision.')) return false
  if (typeof data.version !== 'number') return true
  return data.accounts === undefined && type === 'decision.created' && objects(data.budgets).length > 0
}

/**
 * Takes entries in any order: a decision is made in one log and may be settled in another. Skips entries of releases
 * that did not record versions. Its memory grows with the decisions that have budgets.
 */
export class RecomputedBudgets {
  readonly #moves = new Map<string, Move[]>()
  #unnamedUntil = ''

  /** @throws LineError when an amount in the entry is invalid */
  add(entry: AuditEntry): void {
    const { subject, at } = entry
    if (isUnnamed(entry) && at > this.#unnamedUntil) this.#unnamedUntil = at
    const move = moveOf(entry)
    if (move === null) return
    const moves = this.#moves.get(subject) ?? []
    this.#moves.set(subject, moves)
    moves.push(move)
  }

  /**
   * Whether the entries name every amount of an account. False when an older release, whose entries do not name
   * accounts, has made or settled a decision since the account began.
   */
  canAddUp({ starts_at }: Pick<RecomputedAccount, 'starts_at'>): boolean {
    return starts_at === null ? this.#unnamedUntil === '' : starts_at > this.#unnamedUntil
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
      const counted = countedAfter(moves, ({ entry }, { row: { policy_id, unit }, ...before }, settled) => {
        for (const [member, logged, recomputed] of [
          ['was', settled.was, before.spent],
          ['reserved', settled.reserved, before.reserved],
        ] as const)
          if (logged !== recomputed)
            differences.push({
              ...{ decision_id: decisionId, entry, policy_id, unit, member },
              ...{ logged: fromMicro(logged), recomputed: fromMicro(recomputed) },
            })
      })
      for (const { row, reserved, spent } of counted) {
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
  return objects(budgets).map((budget, i) => {
    const { agent_id, reads_amount } = objects(accounts)[i] ?? {}
    const is_reserved = budget.reserved === true
    return {
      policy_id: String(budget.policy_id),
      unit: String(budget.unit).toLowerCase(),
      period: String(budget.period),
      starts_at: textOrNull(budget.starts_at),
      agent_id: textOrNull(agent_id),
      is_reserved,
      reads_amount: typeof reads_amount === 'boolean' ? reads_amount : undefined,
      reserved: is_reserved ? amountOf(budget, 'amount', entry) : 0n,
    }
  })
}

function settledOf(entry: AuditEntry): Settled[] {
  return objects(entry.data.committed).map((budget) => ({
    amount: amountOf(budget, 'amount', entry),
    was: amountOf(budget, 'was', entry),
    reserved: amountOf(budget, 'reserved', entry),
  }))
}

/** A text that identifies an account. */
export function nameOf({
  policy_id,
  unit,
  period,
  agent_id,
  starts_at,
}: Pick<Row, 'policy_id' | 'unit' | 'period' | 'agent_id' | 'starts_at'>): string {
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
    `${member} of a budget is ${JSON.stringify(amount)}, which is not an amount: ${placeOf(entry)}.`,
    entry,
  )
}

/** Budgets that entries add up to, against those that a server has shown. */
import type { BudgetDifference, RecomputedAccount, RecomputedBudgets } from '@countersign/audit-log'
import { type AccountKey, BudgetAccountSchema, pageOf } from '@countersign/contract'
import { readJson } from './input.js'

interface Contradiction {
  readonly text: string
  readonly details: object
}

export interface Comparison {
  readonly contradictions: readonly Contradiction[]
  /** How many of the accounts that entries add up to are in the files. */
  readonly compared: number
}

/**
 * Where entries contradict those before them, and where accounts are not what they add up to.
 *
 * @param files with answers of `GET /v1/budgets`, or of the history of a budget
 */
export async function compareBudgets(budgets: RecomputedBudgets, files: readonly string[]): Promise<Comparison> {
  const found = budgets.differences().map(ofEntry)
  const accounts = new Map(budgets.accounts().map((account) => [nameOf(account), account]))
  const compared = new Set<RecomputedAccount>()
  for (const file of files) {
    const { data } = await readJson(file, pageOf(BudgetAccountSchema), 'an answer of a route of budgets')
    for (const { policy_id, unit, period, agent_id, starts_at, spent, reserved } of data) {
      const key = { policy_id, unit: unit.toLowerCase(), period, agent_id, starts_at }
      const account = accounts.get(nameOf(key))
      if (account !== undefined) compared.add(account)
      found.push(...ofAccount(key, { spent, reserved }, account))
    }
  }
  return { contradictions: found, compared: compared.size }
}

function ofEntry(difference: BudgetDifference): Contradiction {
  const { entry, member, logged, recomputed, policy_id, unit } = difference
  const text = `Entry ${entry.index} of log ${entry.log} (${entry.id}): ${member} is ${logged} ${unit} of ${policy_id}, and the entries before it come to ${recomputed}.`
  return { text, details: difference }
}

function* ofAccount(
  key: AccountKey,
  shown: Pick<RecomputedAccount, 'spent' | 'reserved'>,
  account: RecomputedAccount | undefined,
): Generator<Contradiction> {
  for (const member of ['spent', 'reserved'] as const) {
    const recomputed = account?.[member] ?? 0
    if (shown[member] === recomputed) continue
    const { policy_id, unit, period, agent_id, starts_at } = key
    const of = [policy_id, agent_id, period, starts_at].filter((part) => part !== null).join(' ')
    const text = `The account ${of}: ${member} is ${shown[member]} ${unit}, and the entries come to ${recomputed}.`
    yield { text, details: { ...key, member, shown: shown[member], recomputed } }
  }
}

function nameOf({ policy_id, unit, period, agent_id, starts_at }: Omit<AccountKey, 'period'> & { period: string }) {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}

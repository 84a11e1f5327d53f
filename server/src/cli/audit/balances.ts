/** Compares budgets as entries add them up with those that a server has shown. */
import type { BudgetDifference, RecomputedAccount, RecomputedBudgets } from '@countersign/audit-log'
import { type AccountKey, BudgetAccountSchema, pageOf } from '@countersign/contract'
import { readJson } from './input.js'

interface Contradiction {
  readonly text: string
  readonly details: object
}

export interface Comparison {
  readonly contradictions: readonly Contradiction[]
  /** How many of the computed accounts are in the files. */
  readonly compared: number
  /** Accounts that the entries cannot reproduce, in words, because an older release wrote some of the entries. */
  readonly notAddedUp: readonly string[]
}

/**
 * Finds entries that contradict earlier ones, and accounts that differ from their entries.
 *
 * @param files with answers of `GET /v1/budgets`, or of the history of a budget
 */
export async function compareBudgets(budgets: RecomputedBudgets, files: readonly string[]): Promise<Comparison> {
  const found = budgets.differences().map(ofEntry)
  const accounts = new Map(budgets.accounts().map((account) => [nameOf(account), account]))
  const compared = new Set<RecomputedAccount>()
  const notAddedUp: string[] = []
  for (const file of files) {
    const { data } = await readJson(file, pageOf(BudgetAccountSchema), 'a response of a budgets endpoint')
    for (const { policy_id, unit, period, agent_id, starts_at, spent, reserved } of data) {
      const key = { policy_id, unit: unit.toLowerCase(), period, agent_id, starts_at }
      const account = accounts.get(nameOf(key))
      if (account !== undefined) compared.add(account)
      const differences = [...ofAccount(key, { spent, reserved }, account)]
      if (differences.length > 0 && !budgets.canAddUp(key)) notAddedUp.push(nameInWords(key))
      else found.push(...differences)
    }
  }
  return { contradictions: found, compared: compared.size, notAddedUp }
}

/** A line of a report. @param account in words */
export function notAddedUpText(account: string): string {
  return `  the account ${account} cannot be added up: an older release, whose entries do not name accounts, made decisions in its period`
}

function ofEntry(difference: BudgetDifference): Contradiction {
  const { entry, member, logged, recomputed, policy_id, unit } = difference
  const text = `Entry ${entry.index} of log ${entry.log} (${entry.id}): ${member} is ${logged} ${unit} of ${policy_id}, but the earlier entries add up to ${recomputed}.`
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
    const { unit } = key
    const text = `The account ${nameInWords(key)}: ${member} is ${shown[member]} ${unit}, but the entries add up to ${recomputed}.`
    yield { text, details: { ...key, member, shown: shown[member], recomputed } }
  }
}

function nameInWords({ policy_id, period, agent_id, starts_at }: AccountKey): string {
  return [policy_id, agent_id, period, starts_at].filter((part) => part !== null).join(' ')
}

function nameOf({ policy_id, unit, period, agent_id, starts_at }: Omit<AccountKey, 'period'> & { period: string }) {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}

/** Describes accounts in words. */
import type { BudgetAccount, BudgetPeriod, Policy } from '@countersign/contract'

/** Writes `November 2026` or `the week of 2026-11-16`. Periods are in UTC. */
export function periodName(period: BudgetPeriod, startsAt: string | null): string {
  if (startsAt === null) return 'all time'
  const day = startsAt.slice(0, 10)
  switch (period) {
    case 'hourly':
      return `${day} ${startsAt.slice(11, 16)} UTC`
    case 'daily':
      return day
    case 'weekly':
      return `the week of ${day}`
    case 'monthly':
      return new Date(startsAt).toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
    case 'yearly':
      return day.slice(0, 4)
    case 'total':
      return 'all time'
  }
}

/** Writes `2026-12-01 00:00 UTC`. Minutes are exact, because every period ends on a full minute. */
export function utcMinute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

/**
 * Says why an account is not the current account of an active budget. Null when it is.
 *
 * @param policy undefined when unknown
 */
export function oddityOf(account: BudgetAccount, policy: Policy | undefined, nowMs: number): string | null {
  if (account.deleted_at !== undefined) return 'policy deleted'
  if (account.resets_at !== null && Date.parse(account.resets_at) <= nowMs) return 'period over'
  if (policy === undefined) return null
  const { budget } = policy
  if (budget === undefined) return 'budget removed'
  const isSameForm =
    budget.unit.toLowerCase() === account.unit.toLowerCase() &&
    budget.period === account.period &&
    (budget.scope === 'agent') === (account.agent_id !== null)
  if (!isSameForm) return 'earlier budget'
  if (!policy.enabled) return 'policy disabled'
  return policy.mode === 'shadow' ? 'shadow policy' : null
}

/** The oddities of accounts that are not the current account of the policy's budget. */
const NOT_PRESENT: ReadonlySet<string> = new Set(['policy deleted', 'period over', 'budget removed', 'earlier budget'])

/** A policy whose budget has no account yet: each agent's account begins with its first request. */
export interface UnusedBudget {
  readonly policy: Policy
  readonly budget: NonNullable<Policy['budget']>
}

export function unusedBudgets(
  policies: Iterable<Policy>,
  accounts: readonly BudgetAccount[],
  nowMs: number,
): UnusedBudget[] {
  const byId = new Map([...policies].map((policy) => [policy.id, policy]))
  const present = accounts.filter((account) => {
    const oddity = oddityOf(account, byId.get(account.policy_id), nowMs)
    return oddity === null || !NOT_PRESENT.has(oddity)
  })
  const used = new Set(present.map(({ policy_id }) => policy_id))
  return [...byId.values()].flatMap((policy) =>
    policy.budget === undefined || used.has(policy.id) ? [] : [{ policy, budget: policy.budget }],
  )
}

/** Whether a search matches the policy's name or id, the agent or the unit. */
export function isFound(
  account: Pick<BudgetAccount, 'policy_id' | 'agent_id' | 'unit'>,
  policyName: string | undefined,
  search: string,
): boolean {
  const wanted = search.trim().toLowerCase()
  return [policyName, account.policy_id, account.agent_id, account.unit].some((text) =>
    text?.toLowerCase().includes(wanted),
  )
}

/** What an account is, in words. */
import type { BudgetAccount, BudgetPeriod, Policy } from '@countersign/contract'

/** `November 2026`, `the week of 2026-11-16`. Periods are those of UTC. */
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

/** `2026-12-01 00:00 UTC`: exact to the minute, and no period ends within one. */
export function utcMinute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
}

/**
 * What sets an account apart from the present one of a budget in force. Null for that one.
 *
 * @param policy undefined when it is not known
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

/** Whether a search finds it: in the name or id of its policy, or in its agent. */
export function isFound(account: BudgetAccount, policyName: string | undefined, search: string): boolean {
  const wanted = search.trim().toLowerCase()
  return [policyName, account.policy_id, account.agent_id, account.unit].some((text) =>
    text?.toLowerCase().includes(wanted),
  )
}

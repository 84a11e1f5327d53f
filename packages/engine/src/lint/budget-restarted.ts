import { type PolicyDocument, type Warning, withBudgetDefaults } from '@countersign/contract'

/** A budget with another unit, period or scope uses another account; the case of the unit is ignored. */
export function checkRestarted(policy: PolicyDocument, before: PolicyDocument | null): Warning[] {
  if (policy.budget === undefined || before?.budget === undefined) return []
  const now = withBudgetDefaults(policy.budget)
  const then = withBudgetDefaults(before.budget)
  const changed = (['unit', 'period', 'scope'] as const).filter(
    (member) => now[member]?.toLowerCase() !== then[member]?.toLowerCase(),
  )
  return changed.map((member) => ({
    code: 'budget_restarted',
    pointer: `/budget/${member}`,
    message: `Its ${member} was ${then[member]} and is now ${now[member]}, so the budget counts in another account: what was spent and reserved so far stays in the old one.`,
  }))
}

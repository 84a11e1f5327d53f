import type { DecisionFilters } from '../../api/decisions'

/** What is told of a decision in a list and in an event. */
type Filtered = { readonly evaluated_at: string } & { readonly [Name in keyof DecisionFilters]?: unknown }

/** Whether a decision belongs to the list, as the server sees it. */
export function matches(decision: Filtered, { from, to, ...exact }: DecisionFilters): boolean {
  const at = decision.evaluated_at
  if (from !== undefined && at < from) return false
  if (to !== undefined && at >= to) return false
  return Object.entries(exact).every(
    ([name, value]) => value === undefined || decision[name as keyof DecisionFilters] === value,
  )
}

import type { DecisionFilters } from '../../api/decisions'

/** The fields of a decision that both lists and events contain. */
type Filtered = { readonly evaluated_at: string } & { readonly [Name in keyof DecisionFilters]?: unknown }

/** Whether the server would list a decision under these filters. */
export function matches(decision: Filtered, { from, to, ...exact }: DecisionFilters): boolean {
  // Compared as numbers, because a URL may write times in any form.
  const at = Date.parse(decision.evaluated_at)
  if (from !== undefined && at < Date.parse(from)) return false
  if (to !== undefined && at >= Date.parse(to)) return false
  return Object.entries(exact).every(
    ([name, value]) => value === undefined || decision[name as keyof DecisionFilters] === value,
  )
}

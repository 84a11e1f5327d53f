import type { DecisionStatus, Effect } from '@countersign/contract'
import type { DecisionFilters as Filters } from '../../api/decisions'
import { wordsOf } from '../../components/badges'
import { FilterForm } from '../../components/filter-form'

/** Records, so that a missing value does not compile. */
const EFFECTS: Readonly<Record<Effect, true>> = { allow: true, deny: true, review: true, log: true }
const STATUSES: Readonly<Record<DecisionStatus, true>> = {
  authorized: true,
  denied: true,
  awaiting_review: true,
  approved: true,
  declined: true,
  confirmed: true,
  rejected: true,
  expired: true,
}

const CHOICES = [
  { name: 'effect', label: 'Effect', width: 120, options: Object.keys(EFFECTS) },
  {
    name: 'status',
    label: 'Status',
    width: 165,
    options: Object.keys(STATUSES).map((value) => ({ value, label: wordsOf(value) })),
  },
] as const

const TEXTS = [
  ['agent_id', 'Agent', 'agent:support-7'],
  ['action', 'Action', 'payment.refund'],
  ['resource', 'Resource', 'order:8812'],
  ['policy_id', 'Policy', 'pol_…'],
  ['trace_id', 'Trace', '4bf92f35…'],
] as const

export interface DecisionFiltersProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

export function DecisionFilters(props: DecisionFiltersProps) {
  return <FilterForm {...props} choices={CHOICES} texts={TEXTS} textWidth={140} />
}

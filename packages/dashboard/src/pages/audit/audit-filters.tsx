import type { AuditType } from '@countersign/contract'
import type { AuditFilters as Filters } from '../../api/audit'
import { FilterForm } from '../../components/filter-form'

/** A record, so that a missing type does not compile. */
const TYPES: Readonly<Record<AuditType, true>> = {
  'decision.created': true,
  'decision.approved': true,
  'decision.declined': true,
  'decision.claimed': true,
  'decision.confirmed': true,
  'decision.rejected': true,
  'decision.corrected': true,
  'decision.expired': true,
  'decision.redeemed': true,
  'policy.created': true,
  'policy.updated': true,
  'policy.deleted': true,
  'agent.created': true,
  'agent.updated': true,
  'agent.deleted': true,
  'agent.suspended': true,
  'agent.resumed': true,
  'key.created': true,
  'key.rotated': true,
  'key.revoked': true,
  'key.signed_in': true,
  'key.signed_out': true,
  'webhook.created': true,
  'webhook.updated': true,
  'webhook.deleted': true,
  'webhook.disabled': true,
  'budget.threshold': true,
  'budget.exceeded': true,
  'signing_key.created': true,
  'signing_key.rotated': true,
  'signing_key.revoked': true,
  'store.loss_accepted': true,
  'decisions.removed': true,
  'log.rewrite_accepted': true,
  'request.erased': true,
  void: true,
}

const CHOICES = [{ name: 'type', label: 'Type', width: 210, options: Object.keys(TYPES), isSearchable: true }] as const

const TEXTS = [
  ['agent_id', 'Agent', 'agent:support-7'],
  ['decision_id', 'Decision', 'dec_…'],
] as const

export interface AuditFiltersProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

export function AuditFilters(props: AuditFiltersProps) {
  return <FilterForm {...props} choices={CHOICES} texts={TEXTS} textWidth={240} />
}

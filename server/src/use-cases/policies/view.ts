import { type EventPolicy, LIMITS, type Policy, withDefaults } from '@countersign/contract'
import type { StoredPolicy } from '../../ports/store/documents.js'
import { firstWithin } from '../first-within.js'

/** A policy as the API shows it: the document with its defaults and the members that the server adds. */
export function viewPolicy(policy: StoredPolicy): Policy {
  return {
    id: policy.id as Policy['id'],
    ...withDefaults(policy.document),
    revision: policy.version,
    created_at: policy.created_at,
    updated_at: policy.updated_at,
    created_by: policy.created_by,
    warnings: policy.warnings,
  }
}

/** A policy as events show it: a large document is cut to a limit. */
export function viewEventPolicy(policy: StoredPolicy): EventPolicy {
  const view = viewPolicy(policy)
  const rules = firstWithin(view.rules, LIMITS.eventLargestBytes)
  const agents = firstWithin(view.agents ?? [], LIMITS.eventListBytes)
  const warnings = firstWithin(view.warnings, LIMITS.eventListBytes)
  return {
    ...view,
    ...(rules.omitted > 0 && { rules: rules.first, rules_omitted: rules.omitted }),
    ...(agents.omitted > 0 && { agents: agents.first, agents_omitted: agents.omitted }),
    ...(warnings.omitted > 0 && { warnings: warnings.first, warnings_omitted: warnings.omitted }),
  }
}

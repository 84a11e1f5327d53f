import { type Policy, withDefaults } from '@countersign/contract'
import type { StoredPolicy } from '@countersign/store-port/documents'

/** A policy as the API shows it: the document with its defaults, and what the server adds. */
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

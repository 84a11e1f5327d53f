import { type Policy, type PolicyDocument, withDefaults } from '@countersign/contract'
import type { PolicyWarning, StoredPolicy } from '../../ports/documents.js'

/** A policy as the API shows it: the document with its defaults, and what the server adds. */
export function viewPolicy(policy: StoredPolicy): Policy {
  return {
    id: policy.id,
    ...inOrder(withDefaults(policy.document)),
    revision: policy.version,
    created_at: policy.created_at,
    updated_at: policy.updated_at,
    created_by: policy.created_by,
    warnings: policy.warnings.map((warning: PolicyWarning) => ({ ...warning })),
  } as Policy
}

/** Members in the order of the reference, whatever the order in which they were sent. */
function inOrder(document: PolicyDocument): PolicyDocument {
  const { name, description, priority, enabled, mode, agents, rules, budget } = document
  return {
    name,
    ...(description !== undefined && { description }),
    ...(priority !== undefined && { priority }),
    ...(enabled !== undefined && { enabled }),
    ...(mode !== undefined && { mode }),
    ...(agents !== undefined && { agents }),
    rules,
    ...(budget !== undefined && { budget }),
  }
}

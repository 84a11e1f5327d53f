import { PolicyDocumentSchema, type PolicyValidation, validate } from '@countersign/contract'
import { lint } from '@countersign/engine'
import type { Policies } from '../../state/policies.js'

/**
 * What a write of the document would say, without writing it: of a stored policy with its name as of a replacement.
 * `warnings` only when it is valid.
 */
export function validatePolicy(deps: { readonly policies: Policies }, document: unknown): PolicyValidation {
  const result = validate(PolicyDocumentSchema, document)
  if (!result.ok) return { valid: false, errors: [...result.errors], warnings: [] }
  const valid = result.value
  const present = deps.policies.named(valid.name)
  const warnings = lint(valid, deps.policies.others(present?.id ?? null), present?.document)
  return { valid: true, errors: [], warnings }
}

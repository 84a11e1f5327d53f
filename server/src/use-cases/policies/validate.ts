import { type PolicyDocument, PolicyDocumentSchema, type PolicyValidation, validate } from '@countersign/contract'
import { lint } from '@countersign/engine'
import type { Policies } from '../../state/policies.js'
import { unsupportedMembers } from './unsupported.js'

/** What POST would say of the document, without writing it. `warnings` only when it is valid. */
export function validatePolicy(deps: { readonly policies: Policies }, document: unknown): PolicyValidation {
  const result = validate(PolicyDocumentSchema, document)
  if (!result.ok) return { valid: false, errors: [...result.errors], warnings: [] }
  const valid: PolicyDocument = result.value
  const errors = unsupportedMembers(valid)
  if (errors.length > 0) return { valid: false, errors, warnings: [] }
  const present = deps.policies.named(valid.name)
  return { valid: true, errors: [], warnings: [...lint(valid, deps.policies.others(present?.id ?? null))] }
}

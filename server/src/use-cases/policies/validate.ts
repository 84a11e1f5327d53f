import { PolicyDocumentSchema, type PolicyValidation, validate } from '@countersign/contract'
import type { Policies } from '../../state/policies.js'
import { lintBeside } from './lint-beside.js'

/**
 * Returns what a write of the document would answer, without writing it. A document with the name of a stored policy is
 * checked as its replacement. Has `warnings` only when the document is valid.
 *
 * @param pause awaited between the parts of the check
 */
export async function validatePolicy(
  deps: { readonly policies: Policies },
  document: unknown,
  pause: () => Promise<void>,
): Promise<PolicyValidation> {
  const result = validate(PolicyDocumentSchema, document)
  if (!result.ok) return { valid: false, errors: [...result.errors], warnings: [] }
  const valid = result.value
  const id = deps.policies.named(valid.name)?.id ?? null
  const warnings = await lintBeside(deps.policies, { document: valid, id }, pause)
  return { valid: true, errors: [], warnings }
}

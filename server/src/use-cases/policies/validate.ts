import { PolicyDocumentSchema, type PolicyValidation, validate } from '@countersign/contract'
import { lintInParts } from '@countersign/engine'
import type { Policies } from '../../state/policies.js'
import { inParts } from '../in-parts.js'

/**
 * What a write of the document would say, without writing it: of a stored policy with its name as of a replacement.
 * `warnings` only when it is valid.
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
  const present = deps.policies.named(valid.name)
  const others = [...deps.policies.others(present?.id ?? null)]
  const warnings = await inParts(lintInParts(valid, others, present?.document ?? null), pause)
  return { valid: true, errors: [], warnings }
}

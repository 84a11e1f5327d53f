import type { PolicyDocument, Warning } from '@countersign/contract'
import { lintInParts } from '@countersign/engine'
import type { Policies } from '../../state/policies.js'
import { inParts } from '../in-parts.js'

export interface LintedDocument {
  readonly document: PolicyDocument
  /** The policy that the document replaces; null for a new one. */
  readonly id: string | null
}

/**
 * Returns the warnings of a document next to the policies that are stored when the check begins.
 *
 * @param pause awaited between the parts of the check
 */
export function lintBeside(
  policies: Policies,
  { document, id }: LintedDocument,
  pause: () => Promise<void>,
): Promise<Warning[]> {
  const before = id === null ? null : (policies.find(id)?.document ?? null)
  return inParts(lintInParts(document, [...policies.others(id)], before), pause)
}

import type { Policy, PolicyDocument } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import { createPolicy } from './create.js'
import { replacePolicy } from './replace.js'

type Deps = Parameters<typeof createPolicy>[0]
type PolicyCall = Parameters<typeof createPolicy>[1]

export interface PutCondition {
  /** The accepted present revisions (`If-Match`): null for any, absent when the policy may also be missing. */
  readonly revisions?: readonly string[] | null
  /** Whether the name must be free (`If-None-Match: *`). */
  readonly mustBeNew: boolean
}

/**
 * Creates the policy with the name of the document, or replaces it entirely. The revision applies from the next request
 * on.
 *
 * @throws DomainError revision_mismatch
 */
export async function putPolicyByName(
  deps: Deps,
  call: PolicyCall,
  document: PolicyDocument,
  condition: PutCondition,
): Promise<{ policy: Policy; isNew: boolean }> {
  const present = deps.policies.named(document.name)
  assertMet(condition, present !== undefined)
  try {
    return present === undefined
      ? { policy: await createPolicy(deps, call, document), isNew: true }
      : { policy: await replacePolicy(deps, call, present.id, document, condition.revisions ?? null), isNew: false }
  } catch (error) {
    const isOvertaken = deps.policies.named(document.name)?.id !== present?.id
    if (!isOvertaken || !isAboutName(error)) throw error
    return putPolicyByName(deps, call, document, condition)
  }
}

function assertMet({ revisions, mustBeNew }: PutCondition, exists: boolean): void {
  if (exists && mustBeNew) throw new DomainError('revision_mismatch', { detail: 'A policy with this name exists.' })
  if (!exists && revisions !== undefined)
    throw new DomainError('revision_mismatch', { detail: 'There is no policy with this name.' })
}

/** Whether another caller created or deleted the policy after it was looked up. */
function isAboutName(error: unknown): boolean {
  return error instanceof DomainError && (error.code === 'policy_name_taken' || error.code === 'not_found')
}

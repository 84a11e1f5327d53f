import type { AuditEntry, DecisionDetail } from '@countersign/contract'

/** A claim of a permit. */
export type Claim = readonly [name: string, meaning: string, value: string]

/**
 * Derives the claims of a decision's permit; null when it has no permit. The permit itself is returned only to the requesting
 * key. The amount is left out, because a decision does not say which budget read one. After an erasure, the resource and the
 * hash are unknown.
 *
 * @param entries the audit entries of the decision; null when unknown
 */
export function permitClaims(decision: DecisionDetail, entries: readonly AuditEntry[] | null): Claim[] | null {
  const claimed = entries?.find(({ type }) => type === 'decision.claimed') ?? null
  if (!wasPermitted(decision, claimed !== null)) return null
  const issued = decision.effect === 'review' ? claimed?.at : decision.evaluated_at
  const created = entries?.find(({ type }) => type === 'decision.created')
  return [
    ['sub', 'Agent', decision.agent_id],
    ['action', 'Action', decision.action],
    ...(decision.request_hash === null ? [] : [['resource', 'Resource', decision.resource ?? 'null'] as const]),
    ['effect', 'Effect', decision.effect],
    ['jti', 'Decision', decision.id],
    ...(issued === undefined ? [] : [['iat', 'Signed', secondText(issued)] as const]),
    ['exp', 'Expires', secondText(decision.expires_at)],
    ['policy_id', 'Policy', decision.policy_id],
    ...(decision.policy_revision === null
      ? []
      : [['policy_revision', 'Revision', String(decision.policy_revision)] as const]),
    ...(decision.request_hash === null ? [] : [['request_hash', 'Request hash', decision.request_hash] as const]),
    ...(created === undefined
      ? []
      : [['audit', 'Log, index, leaf', `${created.log}, ${created.index}, ${created.leaf}`] as const]),
  ]
}

/** Only an authorized decision has a permit. A review that has ended may or may not have been claimed before. */
function wasPermitted({ effect, status }: DecisionDetail, isClaimed: boolean): boolean {
  if (effect === 'deny') return false
  if (effect !== 'review') return true
  return status === 'authorized' || status === 'confirmed' || isClaimed
}

/** Writes a time as a permit does, in whole seconds, rounded down. */
function secondText(at: string): string {
  const seconds = Math.floor(Date.parse(at) / 1000)
  return `${seconds} (${new Date(seconds * 1000).toISOString().replace('.000', '')})`
}

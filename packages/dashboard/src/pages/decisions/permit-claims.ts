import type { AuditEntry, DecisionDetail } from '@countersign/contract'

/** A claim of a permit: its name, what that means, and its value as text. */
export type Claim = readonly [name: string, meaning: string, value: string]

/**
 * What the permit of a decision says, as far as it follows from the decision; null when there is none. A permit itself
 * goes to the key that asked alone. Its amount does not follow: no decision tells which budget reads one. Of an erased request
 * neither the resource nor the hash is known.
 *
 * @param entries of the audit log about the decision, null when they are not known
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
    ['exp', 'Ends', secondText(decision.expires_at)],
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

/** Only what was authorized has a permit. A review that ended may have been claimed before, or not. */
function wasPermitted({ effect, status }: DecisionDetail, isClaimed: boolean): boolean {
  if (effect === 'deny') return false
  if (effect !== 'review') return true
  return status === 'authorized' || status === 'confirmed' || isClaimed
}

/** Permits count in whole seconds, rounded down. */
function secondText(at: string): string {
  const seconds = Math.floor(Date.parse(at) / 1000)
  return `${seconds} (${new Date(seconds * 1000).toISOString().replace('.000', '')})`
}

import type { AuditEntry, DecisionDetail, PermitClaims } from '@countersign/contract'

/**
 * Names the differences between a genuine permit and its decision. There are none for a permit that this server issued. The
 * request is not compared after it was erased.
 */
export function differencesOf(
  claims: PermitClaims,
  decision: DecisionDetail,
  entries: readonly AuditEntry[] | null,
): string[] {
  const { audit } = claims
  const end = Math.floor(Date.parse(decision.expires_at) / 1000)
  const ofRequest = [
    ['resource', claims.resource, decision.resource],
    ['hash of the request', claims.request_hash, decision.request_hash],
  ] as const
  const pairs = [
    ['agent', claims.sub, decision.agent_id],
    ['action', claims.action, decision.action],
    ['effect', claims.effect, decision.effect],
    ['policy', claims.policy_id, decision.policy_id],
    ['revision of the policy', claims.policy_revision, decision.policy_revision],
    ['end', claims.exp, end],
    ...(decision.request_erased_at === undefined ? ofRequest : []),
  ] as const
  const isReserved =
    claims.amount === undefined ||
    decision.budgets.some(({ amount, unit }) => amount === claims.amount && unit === claims.unit)
  const isLogged =
    entries === null ||
    entries.some(({ log, index, leaf }) => log === audit.log && index === audit.index && leaf === audit.leaf)
  return [
    ...pairs.filter(([, said, stored]) => said !== stored).map(([what]) => `the ${what}`),
    ...(isReserved ? [] : ['the amount or its unit']),
    ...(isLogged ? [] : ['the position in the audit log']),
  ]
}

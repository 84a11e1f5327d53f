import type { PermitClaims } from '@countersign/permit'
import type { StoredDecision } from '../../ports/store/documents.js'

/** Who issues permits and who they are for. */
export interface PermitSettings {
  readonly issuer: string
  readonly audience: string
}

/**
 * Returns the claims of an authorized decision's permit. They follow from the stored decision alone: the same decision
 * always gives the same permit, and the store holds no permits.
 *
 * Source: docs/permits.md
 */
export function permitClaims(decision: StoredDecision, settings: PermitSettings): PermitClaims {
  if (decision.effect === 'deny') throw new Error('A denied decision has no permit.')
  if (decision.request_hash === null) throw new Error('A decision whose request was erased has no permit.')
  return {
    iss: settings.issuer,
    sub: decision.agent_id,
    aud: settings.audience,
    iat: epochSeconds(decision.claimed_at ?? decision.evaluated_at),
    exp: epochSeconds(decision.expires_at),
    jti: decision.id,
    action: decision.action,
    resource: decision.resource,
    effect: decision.effect,
    policy_id: decision.policy_id,
    policy_revision: decision.policy_revision as number,
    ...amountReserved(decision),
    request_hash: decision.request_hash,
    audit: decision.audit,
  }
}

/** The amount of the first budget that reads its amount from the request. */
function amountReserved({ budgets, postings }: StoredDecision): Pick<PermitClaims, 'amount' | 'unit'> {
  // A reservation is in every budget of the decision, so both lists have the same order.
  const budget = budgets[postings.findIndex((posting) => posting.reads_amount)]
  return budget === undefined || budget.amount === null ? {} : { amount: budget.amount, unit: budget.unit }
}

function epochSeconds(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 1000)
}

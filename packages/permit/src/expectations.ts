import type { PermitClaims } from '@countersign/contract'
import { PermitError } from './permit-error.js'

/** Stands for "any value of the permit", where an action or a resource must be given. */
export const any: unique symbol = Symbol.for('countersign.any')

/**
 * The action that the caller is about to run. A permit for anything else is refused.
 *
 * `action` and `resource` are required; a `resource` of null demands a permit without one. The other members are
 * compared when they are given; an explicit undefined is a fault, it does not count as absent.
 */
export interface PermitExpectations {
  readonly action: string | typeof any
  readonly resource: string | null | typeof any
  readonly agent_id?: string
  /** The amount that was reserved, exactly. */
  readonly amount?: number
  /** The unit of the amount; ASCII case is ignored. */
  readonly unit?: string
  /** The hash of the request as the caller sees it, see `requestHash`. */
  readonly request_hash?: string
  /** Also accepts a permit of the effect `log`; default false. */
  readonly allowLog?: boolean
}

/** @throws PermitError expectation_missing: an unknown value cannot be compared, so nothing passes */
export function assertGiven(expected: PermitExpectations): void {
  const given = new Map<string, unknown>(Object.entries(expected ?? {}))
  for (const member of new Set(['action', 'resource', ...given.keys()])) {
    if (given.get(member) === undefined) {
      throw new PermitError('expectation_missing', `The expected ${member} must be given.`)
    }
  }
}

/** @throws PermitError effect_not_allowed, or the mismatch of the first claim that differs */
export function assertExpected(claims: PermitClaims, expected: PermitExpectations): void {
  assertEffect(claims.effect, expected.allowLog === true)
  const { action, resource, agent_id, amount, unit, request_hash } = expected
  if (action !== any && claims.action !== action) {
    throw new PermitError('action_mismatch', 'The permit is for another action.')
  }
  if (resource !== any && claims.resource !== resource) {
    throw new PermitError('resource_mismatch', 'The permit is for another resource.')
  }
  if (agent_id !== undefined && claims.sub !== agent_id) {
    throw new PermitError('agent_mismatch', 'The permit is for another agent.')
  }
  if (amount !== undefined && claims.amount !== amount) {
    throw new PermitError('amount_mismatch', 'The permit is for another amount.')
  }
  if (unit !== undefined && claims.unit?.toLowerCase() !== unit.toLowerCase()) {
    throw new PermitError('unit_mismatch', 'The permit is for another unit.')
  }
  if (request_hash !== undefined && claims.request_hash !== request_hash) {
    throw new PermitError('request_hash_mismatch', 'The permit is for another request.')
  }
}

function assertEffect(effect: string, isLogAllowed: boolean): void {
  if (effect === 'allow' || effect === 'review' || (effect === 'log' && isLogAllowed)) return
  throw new PermitError('effect_not_allowed', `A permit of effect ${JSON.stringify(effect)} is not accepted here.`)
}

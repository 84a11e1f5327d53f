/** The events of `requirePermit` for its `onEvent`, in the terms of the client's events, and the default listener. */
import type { Asked, JsonObject, ShownDecision } from '@countersign/client'
import { warnOfFault, warnOperator } from '@countersign/client/kernel'
import { type PermitClaims, PermitError, type PermitErrorCode } from '@countersign/permit'
import type { RouteDeniedCode } from './refusal-sentences.js'
import { RouteDeniedError } from './route-denied-error.js'

/**
 * Events never contain a permit.
 *
 * - `accepted`: the permit is used up, and the route runs;
 * - `denied`: the route does not run.
 */
export type PermitEvent =
  | {
      readonly type: 'accepted'
      /** The subject of the permit. The context is null if none was compared. */
      readonly asked: Asked
      readonly claims: PermitClaims
      /** Null unless the permit was redeemed. */
      readonly decision: ShownDecision | null
    }
  | {
      readonly type: 'denied'
      /** Null: no question was asked here. */
      readonly asked: null
      readonly reason: RouteDeniedCode
      readonly decision: null
      /** The error that the caller gets; its `cause` is for the operator, not for the caller. */
      readonly error: Error
    }

export function acceptedEvent(
  claims: PermitClaims,
  context: JsonObject | null,
  decision: ShownDecision | null,
): PermitEvent {
  const { sub: agent_id, action, resource } = claims
  return { type: 'accepted', asked: { agent_id, action, resource, context }, claims, decision }
}

export function deniedEvent(denial: unknown): PermitEvent {
  const error = denial instanceof Error ? denial : new Error('the check of a permit failed', { cause: denial })
  const reason = RouteDeniedError.isInstance(denial) ? denial.code : 'unavailable'
  return { type: 'denied', asked: null, reason, decision: null, error }
}

/** Errors that mean, until a permit has been accepted, that no permit ever will be. */
const NEVER: ReadonlySet<PermitErrorCode> = new Set([
  'issuer_mismatch',
  'audience_mismatch',
  'key_unknown',
  'key_unusable',
  'key_set_unavailable',
  'signature_invalid',
])
const CLOCK: ReadonlySet<PermitErrorCode> = new Set(['expired', 'issued_in_future'])

/** Receives the events of a route without `onEvent`: warns of faults that only the operator can fix. */
export function warnOfPermitFaults(): (event: PermitEvent) => void {
  let isProven = false
  return (event) => {
    if (event.type === 'accepted') isProven = true
    else if (event.error.cause instanceof PermitError) warnOfPermit(event.error.cause, isProven)
    else warnOfFault(event.error.cause)
  }
}

function warnOfPermit(error: PermitError, isProven: boolean): void {
  const { code } = error
  const what = `${code}: ${whole(error)}`
  if (code === 'expectation_missing') {
    warnOperator(
      'COUNTERSIGN_MAPPING_FAILED',
      `requirePermit was not told what a permit must be for (${what}). Correct what gives action, resource, agent_id and context.`,
    )
  } else if (code === 'issued_in_future' || (CLOCK.has(code) && !isProven)) {
    warnOperator(
      'COUNTERSIGN_CLOCK',
      `A permit is not in force by the clock of this machine (${what}). If new permits are also refused, the clocks of this machine and the decision point differ: set both by NTP.`,
    )
  } else if (NEVER.has(code) && !isProven) {
    warnOperator(
      'COUNTERSIGN_NO_PERMIT_HOLDS',
      `requirePermit has refused a permit, and has accepted none so far (${what}). Use the exact values of the decision point: issuer is its ISSUER, audience its PERMIT_AUDIENCE, and jwks the URL of its /.well-known/jwks.json.`,
      code,
    )
  }
}

/** Includes the innermost cause: fetch itself only says that it failed. */
function whole(error: Error): string {
  let inner: Error = error
  while (inner.cause instanceof Error && inner.cause !== inner) inner = inner.cause
  return inner === error ? error.message : `${error.message} ${inner.message}`
}

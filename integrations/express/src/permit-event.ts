/** What `requirePermit` tells its `onEvent`, in the words of the client's events; and who hears it where nobody listens. */
import type { Asked, JsonObject, ShownDecision } from '@countersign/client'
import { warnOfFault, warnOperator } from '@countersign/client/kernel'
import { type PermitClaims, PermitError, type PermitErrorCode } from '@countersign/permit'
import { type RouteDeniedCode, RouteDeniedError } from './route-denied-error.js'

/**
 * No event holds a permit.
 *
 * - `accepted`: the permit is used up, and the route runs;
 * - `denied`: the route does not run.
 */
export type PermitEvent =
  | {
      readonly type: 'accepted'
      /** What the permit is for. The context is null where none was compared. */
      readonly asked: Asked
      readonly claims: PermitClaims
      /** Null unless the permit was redeemed. */
      readonly decision: ShownDecision | null
    }
  | {
      readonly type: 'denied'
      /** Null: nobody has asked here. */
      readonly asked: null
      readonly reason: RouteDeniedCode
      readonly decision: null
      /** What the caller is answered; its `cause` is for the operator, and not for the caller. */
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

/** What says, until a permit has been accepted, that none ever will be. */
const NEVER: ReadonlySet<PermitErrorCode> = new Set([
  'issuer_mismatch',
  'audience_mismatch',
  'key_unknown',
  'key_unusable',
  'key_set_unavailable',
  'signature_invalid',
])
const CLOCK: ReadonlySet<PermitErrorCode> = new Set(['expired', 'issued_in_future'])

/** Hears the events of one route that has no `onEvent`: warns of faults that only the operator can fix. */
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
      `requirePermit was not told what a permit has to be for (${what}). Correct what gives action, resource, agent_id and context.`,
    )
  } else if (code === 'issued_in_future' || (CLOCK.has(code) && !isProven)) {
    warnOperator(
      'COUNTERSIGN_CLOCK',
      `A permit is not in force by the clock of this machine (${what}). If new permits are refused so, too, the clocks of this machine and the decision point differ: set both by NTP.`,
    )
  } else if (NEVER.has(code) && !isProven) {
    warnOperator(
      'COUNTERSIGN_NO_PERMIT_HOLDS',
      `requirePermit has refused a permit, and has accepted none so far (${what}). Give it the decision point's own words: issuer is its ISSUER, audience its PERMIT_AUDIENCE, and jwks the URL of its /.well-known/jwks.json.`,
      code,
    )
  }
}

/** With the innermost cause: fetch itself says only that it failed. */
function whole(error: Error): string {
  let inner: Error = error
  while (inner.cause instanceof Error && inner.cause !== inner) inner = inner.cause
  return inner === error ? error.message : `${error.message} ${inner.message}`
}

import type { Asked, Settle, ShownDecision } from '@countersign/client'
import type { PermitClaims } from '@countersign/permit'
import type { AdmittedRequest } from './admitted-guards.js'

/** Reports the outcome of the action. */
interface SettlePermit {
  /**
   * The action happened; without `amount` it cost the reserved amount. The first call of any of the three counts,
   * before the status of the response; later ones get its result. None of them ever throws or rejects.
   */
  readonly confirm: Settle['confirm']
  /** The action certainly did not happen. */
  readonly reject: Settle['reject']
  /** The outcome is unknown: the decision stays as it is, and counts as spent once it expires. */
  readonly leave: Settle['leave']
}

/** A route that runs with a decision which permits it. */
export interface PermittedRoute extends SettlePermit {
  readonly kind: 'permitted'
  /** Frozen at every depth. */
  readonly asked: Asked
  /** Frozen at every depth. */
  readonly decision: ShownDecision
  /** For the service that acts on it; not enumerable, never logged. */
  readonly permit_token: string
}

/** A route that runs because the mode is `observe`, whatever the decision says. */
export interface ObservedRoute extends SettlePermit {
  readonly kind: 'observed'
  /** Null when there was no question. */
  readonly asked: Asked | null
  /** Null when there was no answer. */
  readonly decision: ShownDecision | null
  /** Null unless the action was permitted. */
  readonly permit_token: string | null
}

/**
 * Why a guarded route runs, as `req.permit` and `res.locals.permit`. With two guards on a route, it is that of the
 * second one.
 */
export type RoutePermit = PermittedRoute | ObservedRoute

/** A permit that a caller showed and that was used up, as `req.verifiedPermit` and `res.locals.verifiedPermit`. */
export interface VerifiedPermit {
  readonly claims: PermitClaims
  /** Null unless the permit was redeemed. */
  readonly decision: ShownDecision | null
}

declare global {
  namespace Express {
    interface Request {
      /** Set by `guard`. */
      permit?: RoutePermit | undefined
      /** Set by `requirePermit`. */
      verifiedPermit?: VerifiedPermit | undefined
    }
    interface Locals {
      /** Set by `guard`. */
      permit?: RoutePermit | undefined
      /** Set by `requirePermit`. */
      verifiedPermit?: VerifiedPermit | undefined
    }
  }
}

/** The admission as the handler sees it. */
export function routePermit(admission: AdmittedRequest): RoutePermit {
  // Its members are those of a single admission, and so of a single kind.
  return new AdmittedRoute(admission) as RoutePermit
}

class AdmittedRoute<Admitted extends AdmittedRequest> implements SettlePermit {
  readonly kind: Admitted['kind']
  readonly asked: Admitted['asked']
  readonly decision: Admitted['decision']
  readonly confirm: Settle['confirm']
  readonly reject: Settle['reject']
  readonly leave: Settle['leave']
  readonly #admission: Admitted

  constructor(admission: Admitted) {
    this.kind = admission.kind
    this.asked = admission.asked
    this.decision = admission.decision
    this.confirm = admission.settle.confirm
    this.reject = admission.settle.reject
    this.leave = admission.settle.leave
    this.#admission = admission
  }

  get permit_token(): Admitted['permit_token'] {
    return this.#admission.permit_token
  }
}

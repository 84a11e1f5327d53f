import type { Admission, Asked, Settle, ShownDecision } from '@countersign/client'
import type { PermitClaims } from '@countersign/permit'

/** Why a guarded route runs, as `req.permit` and `res.locals.permit`. Of two guards of one route it is the second one's. */
export interface RoutePermit {
  /** `observed` in the mode `observe`: the route runs whatever the decision says. */
  readonly kind: 'permitted' | 'observed'
  /** Frozen at every depth. Null only in the mode `observe`, where there was no question. */
  readonly asked: Asked | null
  /** Frozen at every depth. Null only in the mode `observe`, where there was no answer. */
  readonly decision: ShownDecision | null
  /** For the service that acts on it; in no picture of this object. Null only in the mode `observe`. */
  readonly permit_token: string | null
  /**
   * The action happened; without `amount` it cost what was reserved. The first call of any of the three counts, before
   * the status of the response; later ones get its result. None of them ever throws or rejects.
   */
  readonly confirm: Settle['confirm']
  /** The action surely did not happen. */
  readonly reject: Settle['reject']
  /** Nobody knows: the decision stays as it is, and counts as spent once it expires. */
  readonly leave: Settle['leave']
}

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
export class AdmittedRoute implements RoutePermit {
  readonly kind: RoutePermit['kind']
  readonly asked: Asked | null
  readonly decision: ShownDecision | null
  readonly confirm: Settle['confirm']
  readonly reject: Settle['reject']
  readonly leave: Settle['leave']
  readonly #admission: Admission

  constructor(admission: Admission) {
    this.kind = admission.kind
    this.asked = admission.asked
    this.decision = admission.decision
    this.confirm = admission.settle.confirm
    this.reject = admission.settle.reject
    this.leave = admission.settle.leave
    this.#admission = admission
  }

  get permit_token(): string | null {
    return this.#admission.permit_token
  }
}

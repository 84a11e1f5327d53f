/** The admissions of the guards that a request has passed. */
import { DeniedError, type GuardRequest, type ObservedAdmission, type PermittedAdmission } from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import type { Request } from 'express'

/** Why a route may run. */
export type AdmittedRequest = PermittedAdmission | ObservedAdmission

interface Admitted {
  readonly admission: AdmittedRequest
  /** Whether a handler that a guard wraps has begun with it. */
  isBegun: boolean
}

const admitted = new WeakMap<Request, readonly Admitted[]>()

/** How many guards the request has passed. */
export function admittedCount(req: Request): number {
  return admitted.get(req)?.length ?? 0
}

/**
 * Two guards with the same question reserve the budget twice, and the second one is refused when the room does not
 * suffice for both.
 */
export function warnIfAskedBefore(req: Request, request: GuardRequest): void {
  for (const { admission } of admitted.get(req) ?? []) {
    const { asked } = admission
    if (asked === null || textOf(asked) !== textOf(request)) continue
    warnOperator(
      'COUNTERSIGN_GUARD_TWICE',
      `One request asked for the same decision twice (action ${request.action}), which holds its budget twice: guards of the app, a router and a route add up. Mount the guard once, right before the handler.`,
    )
  }
}

function textOf({ agent_id, action, resource, context }: GuardRequest): string {
  return JSON.stringify([agent_id, action, resource ?? null, context ?? null])
}

export function noteAdmitted(req: Request, admission: AdmittedRequest): void {
  admitted.set(req, [...(admitted.get(req) ?? []), { admission, isBegun: false }])
}

/** Call this when a handler starts: the end of the handler settles every admission. */
export function noteBegun(req: Request): void {
  for (const one of admitted.get(req) ?? []) one.isBegun = true
}

/** @throws DeniedError if a decision of an earlier guard has expired */
export function assertStillAdmitted(req: Request): void {
  for (const { admission } of admitted.get(req) ?? [])
    if (admission.kind === 'permitted' && admission.isExpired)
      throw new DeniedError('expired', { decision_id: admission.decision.id })
}

/** The handler does not run: rejects every admission that was not begun, unless the app has settled it. */
export function rejectAdmitted(req: Request): void {
  for (const { admission, isBegun } of admitted.get(req) ?? []) if (!isBegun) rejectUnbegun(admission)
}

export function rejectUnbegun({ settle }: AdmittedRequest): void {
  void settle.reject('the route did not run')
}

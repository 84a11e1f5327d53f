/** What the guards that a request has passed have let through. */
import { type Admission, DeniedError } from '@countersign/client'
import type { Request } from 'express'

const admitted = new WeakMap<Request, readonly Admission[]>()

/** How many guards the request has passed. */
export function admittedCount(req: Request): number {
  return admitted.get(req)?.length ?? 0
}

export function noteAdmitted(req: Request, admission: Admission): void {
  admitted.set(req, [...(admitted.get(req) ?? []), admission])
}

/** @throws DeniedError when what an earlier guard has let through is over by now */
export function assertStillAdmitted(req: Request): void {
  for (const admission of admitted.get(req) ?? [])
    if (admission.kind === 'permitted' && admission.isExpired)
      throw new DeniedError('expired', { decision_id: admission.decision.id })
}

/** The handler does not run: rejects whatever was let through, unless the app has settled it. */
export function rejectAdmitted(req: Request): void {
  for (const admission of admitted.get(req) ?? []) rejectUnbegun(admission)
}

export function rejectUnbegun({ settle }: Admission): void {
  void settle.reject('the route did not run')
}

/** What the guards that a request has passed have let through. */
import { type Admission, DeniedError } from '@countersign/client'
import type { Request } from 'express'

interface Admitted {
  readonly admission: Admission
  /** The clock of its guard, in milliseconds since 1970. */
  readonly now: () => number
}

const admitted = new WeakMap<Request, readonly Admitted[]>()

/** How many guards the request has passed. */
export function admittedCount(req: Request): number {
  return admitted.get(req)?.length ?? 0
}

export function noteAdmitted(req: Request, one: Admitted): void {
  admitted.set(req, [...(admitted.get(req) ?? []), one])
}

/** @throws DeniedError when what an earlier guard has let through is over by now */
export function assertStillAdmitted(req: Request): void {
  for (const { admission, now } of admitted.get(req) ?? []) {
    const { kind, decision } = admission
    if (kind === 'permitted' && !(Date.parse(decision.expires_at) > now())) {
      throw new DeniedError('expired', { decision_id: decision.id })
    }
  }
}

/** The handler does not run: rejects whatever was let through, unless the app has settled it. */
export function rejectAdmitted(req: Request): void {
  for (const { admission } of admitted.get(req) ?? []) rejectUnbegun(admission)
}

export function rejectUnbegun({ settle }: Admission): void {
  void settle.reject('the route did not run')
}

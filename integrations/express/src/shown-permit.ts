import type { Request, Response } from 'express'
import { isWithin, placeOf } from './request-place.js'
import type { RoutePermit, VerifiedPermit } from './route-permit.js'

interface Shown {
  readonly permit: RoutePermit
  readonly verifiedPermit: VerifiedPermit
}

/**
 * Puts what has let a request through on it and on its response. It is seen where the request was let through, and gone once
 * another route is at it, or it says another method or URL.
 */
export function showPermit<Name extends keyof Shown>(
  req: Request,
  res: Response,
  name: Name,
  value: Shown[Name],
): void {
  const place = placeOf(req)
  for (const target of [req, res.locals]) {
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: true,
      get: () => (isWithin(req, place) ? value : undefined),
      set: (other: unknown) =>
        Object.defineProperty(target, name, { configurable: true, enumerable: true, writable: true, value: other }),
    })
  }
}

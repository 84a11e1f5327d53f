import type { Request, Response } from 'express'
import { isWithin, placeOf } from './request-place.js'
import type { RoutePermit, VerifiedPermit } from './route-permit.js'

interface Shown {
  readonly permit: RoutePermit
  readonly verifiedPermit: VerifiedPermit
}

/**
 * Puts the admission of a request on the request and its response. It is visible where the request was admitted, and
 * gone once the request is at another route, or has another method or URL.
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

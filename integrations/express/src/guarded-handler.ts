import type { IncomingMessage, ServerResponse } from 'node:http'
import { DeniedError } from '@countersign/client'
import type { NextFunction, Request, Response } from 'express'
import { noteBegun } from './admitted-guards.js'
import { noteError } from './response-end.js'
import type { RoutePermit, VerifiedPermit } from './route-permit.js'

/** A request that `guard` has let through. */
export type GuardedRequest<Req = Request, Permit extends RoutePermit = RoutePermit> = Req & { readonly permit: Permit }

/** A request that `requirePermit` has let through. */
export type VerifiedRequest<Req = Request> = Req & { readonly verifiedPermit: VerifiedPermit }

/** A handler that `guard` wraps. Its errors go to `next`, like those of any handler of Express 5. */
export type GuardedHandler<Req = Request, Permit extends RoutePermit = RoutePermit> = (
  req: GuardedRequest<Req, Permit>,
  res: Response,
  next: NextFunction,
) => unknown

/** A handler that `requirePermit` wraps. */
export type VerifiedHandler<Req = Request> = (req: VerifiedRequest<Req>, res: Response, next: NextFunction) => unknown

/** Middleware for a route, whatever the types of its parameters. */
export type RouteGuard = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => Promise<void>

/** The handler after a guard. */
export interface Guarded {
  /** @throws DeniedError (`already_claimed`) when the wrapped handler has already run in this request */
  takeTurn(req: Request): void
  run(req: Request, res: Response, next: NextFunction): void | Promise<void>
}

/** The next handler that Express reaches. */
const NEXT: Guarded = { takeTurn: () => undefined, run: (_req, _res, next) => next() }

/** @throws TypeError for anything but a handler */
export function guardedBy(of: string, ...given: readonly unknown[]): Guarded {
  const [handler] = given
  if (given.length === 0) return NEXT
  // A misspelt name gives undefined. If that counted as no handler, the next handler of the app would run instead.
  if (given.length > 1 || typeof handler !== 'function' || handler.length > 3) {
    throw new TypeError(`${of} wraps one handler, a function (req, res, next): put other middleware before ${of}`)
  }
  const begun = new WeakSet<Request>()
  return {
    takeTurn(req) {
      if (begun.has(req)) throw new DeniedError('already_claimed')
      begun.add(req)
    },
    run: (req, res, next) => runHandler(handler as (...args: unknown[]) => unknown, req, res, next),
  }
}

/** Runs it as Express would; the guards of the route are first told what it throws or passes to `next`. */
async function runHandler(
  handler: (...args: unknown[]) => unknown,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<void> {
  const goOn = (error?: unknown): void => {
    if (error && error !== 'route' && error !== 'router') noteError(res, error)
    next(error)
  }
  noteBegun(req)
  try {
    await handler(req, res, goOn)
  } catch (error) {
    goOn(error || new Error('Rejected promise'))
  }
}

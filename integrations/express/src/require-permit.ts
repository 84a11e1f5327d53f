import type { IncomingMessage } from 'node:http'
import { DeniedError, type JsonObject } from '@countersign/client'
import { assertNoMissingPart } from '@countersign/client/kernel'
import { type PermitClaims, PermitError, type PermitExpectations, requestHash } from '@countersign/permit'
import type { NextFunction, Request, Response } from 'express'
import { rejectAdmitted } from './admitted-guards.js'
import { noteTemplates } from './check-routes.js'
import { denialOf } from './denial-of.js'
import { resolved } from './from-request.js'
import { type Guarded, guardedBy, type RouteGuard, type VerifiedHandler } from './guarded-handler.js'
import { holdRequest } from './held-request.js'
import { acceptedEvent, deniedEvent } from './permit-event.js'
import { answerPreflight, isPreflight } from './preflight.js'
import { refuse } from './refuse.js'
import { assertStillAt, isStillAt, placeOf } from './request-place.js'
import { type PermitSettings, type RequirePermitOptions, readPermitOptions } from './require-permit-options.js'
import { goneSignal, watchOtherAnswers } from './response-end.js'
import { showPermit } from './shown-permit.js'
import { schemeOf, shownToken } from './shown-token.js'
import { whileMapping } from './unparsed-body.js'

/**
 * Lets a route run only if its caller shows a permit for this action and resource, once. It checks the permit without
 * calling the decision point, unless it redeems the permit there.
 *
 * The permit is read from one header, never from the URL or the body. A refusal goes to `next` as a RouteDeniedError:
 * 401 with `WWW-Authenticate` without a valid permit, 403 if the permit is for something else, 503 if it cannot be
 * checked. A CORS preflight is answered 204, and nothing runs.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const refund = requirePermit(
 *   {
 *     issuer: 'https://decide.example',
 *     audience: 'https://pay.example',
 *     jwks: 'https://decide.example/.well-known/jwks.json',
 *     action: 'payment.refund',
 *     resource: 'order:{params.id}',
 *     context: (req) => ({ amount: req.body.amount }),
 *   },
 *   async (req, res) => res.json(await pay(req.params.id, req.body.amount)),
 * )
 * app.post('/refunds/:id', express.json(), refund)
 *
 * Source: docs/express-permits.md "Check a permit".
 */
export function requirePermit<Req extends IncomingMessage = Request>(
  options: RequirePermitOptions<Req>,
  ...handler: [handler?: VerifiedHandler<Req>]
): RouteGuard {
  const settings = readPermitOptions(options as unknown as RequirePermitOptions)
  const guarded = guardedBy('requirePermit', ...handler)
  const { action, resource, agent_id } = settings
  const pass: RouteGuard = (req, res, next) => passPermit(settings, guarded, req as Request, res as Response, next)
  return noteTemplates(pass, [action, resource, agent_id])
}

async function passPermit(
  settings: PermitSettings,
  guarded: Guarded,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<void> {
  if (isPreflight(req)) return answerPreflight(res)
  const gone = goneSignal(req, res)
  const isOtherwiseAnswered = watchOtherAnswers(res)
  const isOver = (): boolean => gone.aborted || isOtherwiseAnswered()
  const place = placeOf(req)
  const doNotRun = (): void => {
    // If the request has moved on, a handler may be running with its admission.
    if (!isOtherwiseAnswered() && isStillAt(req, place)) rejectAdmitted(req)
  }
  try {
    guarded.takeTurn(req)
    const token = shownToken(req, settings.header)
    const wanted = wantedBy(req, settings)
    const claims = await settings.verifier.verify(token, wanted.expected)
    assertEffect(claims, settings.effects)
    assertHash(claims, wanted.hashOf)
    // A permit is not used up for a caller that has disconnected.
    if (isOver()) return doNotRun()
    assertStillAt(req, place)
    const redeemed = settings.useUp === null ? null : await settings.useUp(claims, token)
    if (isOver()) return doNotRun()
    assertStillAt(req, place)
    showPermit(req, res, 'verifiedPermit', { claims, decision: redeemed })
    settings.report(acceptedEvent(claims, wanted.context, redeemed))
  } catch (error) {
    doNotRun()
    const denial = denialOf(error, schemeOf(settings.header))
    settings.report(deniedEvent(denial))
    if (!isOver()) refuse(res, denial, next)
    return
  }
  return guarded.run(req, res, next)
}

interface Wanted {
  readonly expected: PermitExpectations
  /** Null when the hash is not compared. */
  readonly hashOf: ((claims: PermitClaims) => string) | null
  /** Null when no context is compared. */
  readonly context: JsonObject | null
}

/** Reads everything in the request before the first await. */
function wantedBy(req: Request, settings: PermitSettings): Wanted {
  const { action, resource, agent_id, context, effects } = settings
  if (settings.freeze) holdRequest(req)
  return mappedFrom(req, () => {
    const expected = {
      action: resolved('action', action, req) as PermitExpectations['action'],
      resource: resolved('resource', resource, req) as PermitExpectations['resource'],
      allowLog: effects.has('log'),
      ...(agent_id === undefined ? {} : { agent_id: resolved('agent_id', agent_id, req) }),
    }
    assertNoMissingPart(textsOf(expected))
    const facts = context === undefined ? undefined : { of: resolved('context', context, req) }
    return { expected, hashOf: hashBy(req, settings, facts), context: facts?.of ?? null }
  })
}

/** Only texts can have a missing part. */
function textsOf({ agent_id, action, resource }: PermitExpectations) {
  return {
    agent_id,
    action: typeof action === 'string' ? action : null,
    resource: typeof resource === 'string' ? resource : null,
  }
}

function hashBy(
  req: Request,
  settings: PermitSettings,
  context: { of: JsonObject | null } | undefined,
): Wanted['hashOf'] {
  const { requestHash: given } = settings
  if (given !== undefined) return (claims) => mapped(() => resolved('requestHash', (req) => given(req, claims), req))
  if (context === undefined) return null
  if (context.of === undefined) throw new PermitError('expectation_missing', 'The expected context must be given.')
  return ({ sub, action, resource }) =>
    mapped(() => requestHash({ agent_id: sub, action, resource, context: context.of }))
}

function mappedFrom<Value>(req: Request, map: () => Value): Value {
  return mapped(() => whileMapping(req, map))
}

/** @throws DeniedError (`mapping_failed`) instead of the error of an option's function */
function mapped<Value>(map: () => Value): Value {
  try {
    return map()
  } catch (cause) {
    if (cause instanceof PermitError || DeniedError.isInstance(cause)) throw cause
    throw new DeniedError('mapping_failed', { cause })
  }
}

function assertEffect({ effect }: PermitClaims, effects: ReadonlySet<string>): void {
  if (!effects.has(effect)) throw new PermitError('effect_not_allowed', 'A permit of this effect is not taken here.')
}

function assertHash(claims: PermitClaims, hashOf: Wanted['hashOf']): void {
  if (hashOf === null || hashOf(claims) === claims.request_hash) return
  throw new PermitError('request_hash_mismatch', 'The permit is for another request.')
}

import type { IncomingMessage } from 'node:http'
import type { ActionOutcome } from '@countersign/client'
import { atOnce, noteFaultPlace } from '@countersign/client/kernel'
import type { NextFunction, Request, Response } from 'express'
import {
  type AdmittedRequest,
  admittedCount,
  assertStillAdmitted,
  noteAdmitted,
  rejectAdmitted,
  rejectUnbegun,
  warnIfAskedBefore,
} from './admitted-guards.js'
import { noteTemplates } from './check-routes.js'
import { denialOf } from './denial-of.js'
import { routeOf } from './from-request.js'
import {
  type EnforcingGuardOptions,
  type GuardSettings,
  type RouteGuardOptions,
  readGuardOptions,
} from './guard-options.js'
import { type Guarded, type GuardedHandler, guardedBy, type RouteGuard } from './guarded-handler.js'
import { holdRequest } from './held-request.js'
import { answerPreflight, isPreflight } from './preflight.js'
import { refuse } from './refuse.js'
import { assertStillAt, isStillAt, placeOf } from './request-place.js'
import { goneSignal, mayHaveRun, type ResponseEnd, watchOtherAnswers, watchResponse } from './response-end.js'
import { type PermittedRoute, routePermit } from './route-permit.js'
import { askedBy, type RouteQuestion } from './route-question.js'
import { showPermit } from './shown-permit.js'
import { whileMapping } from './unparsed-body.js'

/**
 * Request Timeout, Bad Gateway and Gateway Timeout say that an answer was not waited for or was lost, and so nothing about
 * whether the route did what it is for.
 */
const LOST_ANSWERS: ReadonlySet<number> = new Set([408, 502, 504])

/**
 * Lets a route run only on a decision that permits it, and settles the decision by how the response ends.
 *
 * The handler that is given runs by the guard alone, at most once in a request. Without one the guard is middleware: to be put
 * right before the handler, which runs unguarded where a middleware before the guard calls `next` twice.
 *
 * What it asks about is held: `body`, `query` and `params` change no more in the route. A refusal goes to `next` as a
 * RouteDeniedError: 403 for what may not run, 401 without an agent, 503 without an answer. When the caller has left meanwhile,
 * nothing runs. A preflight of CORS is answered 204, and nothing runs. Whatever earlier guards of the request have let through
 * is then rejected.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const refund = guard(
 *   { client, action: 'payment.refund', resource: 'order:{params.id}', context: (req) => ({ amount: req.body.amount }) },
 *   async (req, res) => {
 *     res.json(await pay(req.params.id, req.body.amount))
 *   },
 * )
 * app.post('/refunds/:id', express.json(), refund)
 *
 * Source: docs/express.md "Guard a route".
 */
export function guard<Req extends IncomingMessage = Request>(
  options: EnforcingGuardOptions<Req>,
  ...handler: [handler?: GuardedHandler<Req, PermittedRoute>]
): RouteGuard
/** In the mode `observe`, or by a point: `req.permit` may be `observed`, where there may be no question and no answer. */
export function guard<Req extends IncomingMessage = Request>(
  options: RouteGuardOptions<Req>,
  ...handler: [handler?: GuardedHandler<Req>]
): RouteGuard
export function guard(options: RouteGuardOptions<never>, ...handler: readonly unknown[]): RouteGuard {
  const settings = readGuardOptions(options as unknown as RouteGuardOptions)
  const guarded = guardedBy('guard', ...handler)
  const { action, resource, agent_id } = settings
  const pass: RouteGuard = (req, res, next) => passGuard(settings, guarded, req as Request, res as Response, next)
  return noteTemplates(pass, [action, resource, agent_id])
}

async function passGuard(
  settings: GuardSettings,
  guarded: Guarded,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<void> {
  // Watched routes run as if there were no guard, for callers who have left too.
  const isWatched = settings.point.mode === 'observe'
  if (isPreflight(req)) return isWatched ? guarded.run(req, res, next) : answerPreflight(res)
  const gone = goneSignal(req, res)
  const isOtherwiseAnswered = watchOtherAnswers(res)
  const isAnswered = (): boolean => !isWatched && isOtherwiseAnswered()
  const place = placeOf(req)
  let admission: AdmittedRequest | undefined
  try {
    if (!isWatched) guarded.takeTurn(req)
    admission = await admit(settings, req, isWatched ? undefined : gone)
    if (isAnswered()) return rejectUnbegun(admission)
    if (!isWatched) assertStillAt(req, place)
    admission.begin()
    assertStillAdmitted(req)
    enter(settings, req, res, admission, gone)
  } catch (error) {
    if (admission !== undefined) rejectUnbegun(admission)
    if (isAnswered()) return
    // Elsewhere a handler may be running on what it was let through for.
    if (isStillAt(req, place)) rejectAdmitted(req)
    if (!gone.aborted) refuse(res, denialOf(error), next)
    return
  }
  return guarded.run(req, res, next)
}

async function admit(settings: GuardSettings, req: Request, signal: AbortSignal | undefined): Promise<AdmittedRequest> {
  const { point, freeze } = settings
  let question: RouteQuestion | undefined
  let fault: unknown
  try {
    if (freeze && point.mode === 'enforce') holdRequest(req)
    question = whileMapping(req, () => askedBy(req, settings, admittedCount(req)))
    noteFaultPlace(question.request, routeOf(req))
    warnIfAskedBefore(req, question.request)
  } catch (error) {
    fault = error
  }
  const request = () => {
    if (question === undefined) throw fault
    return question.request
  }
  const admission = await point.admit(request, { idempotencyKey: question?.idempotencyKey, signal })
  // A route cannot be paused: it is refused, and its caller calls again.
  return admission.kind === 'paused' ? admission.begin() : admission
}

function enter(
  settings: GuardSettings,
  req: Request,
  res: Response,
  admission: AdmittedRequest,
  gone: AbortSignal,
): void {
  noteAdmitted(req, admission)
  showPermit(req, res, 'permit', routePermit(admission))
  if (settings.settle === 'manual') return
  const onEnd = (end: ResponseEnd) => void admission.settle.by(() => outcomeOf(settings, req, res, end))
  watchResponse(res, { gone, graceMs: settings.graceMs, onEnd })
}

function outcomeOf({ outcome }: GuardSettings, req: Request, res: Response, end: ResponseEnd): ActionOutcome {
  if (end.kind !== 'answered') return end
  const given = outcome && atOnce('outcome', outcome(req, res))
  if (given !== undefined) return given
  const { status, error } = end
  if (LOST_ANSWERS.has(status) || (error !== undefined && mayHaveRun(error)))
    return { kind: 'unknown', error: error ?? status }
  return status < 400 ? { kind: 'succeeded', value: res } : { kind: 'failed', error: error ?? status }
}

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
import { hearRoute } from './route-errors.js'
import { type PermittedRoute, routePermit } from './route-permit.js'
import { askedBy, type RouteQuestion } from './route-question.js'
import { showPermit } from './shown-permit.js'
import { whileMapping } from './unparsed-body.js'

/**
 * Request Timeout, Bad Gateway and Gateway Timeout say that an answer was lost or not awaited, so they say nothing
 * about whether the action ran. Payment Required may come from a payee who has been paid.
 */
const LOST_ANSWERS: ReadonlySet<number> = new Set([402, 408, 502, 504])

/**
 * Lets a route run only with a decision that permits it, and settles the decision when the response ends.
 *
 * A wrapped handler runs only through the guard, at most once per request. Without a handler the guard is middleware:
 * put it directly before the handler, which runs unguarded if a middleware before the guard calls `next` twice.
 *
 * The guard freezes its question: `body`, `query` and `params` no longer change in the route. A refusal goes to `next`
 * as a RouteDeniedError: 403 for an action that may not run, 401 without an agent, 503 without an answer. If the caller
 * has disconnected, nothing runs. A CORS preflight is answered 204, and nothing runs. In these cases the admissions of
 * earlier guards of the request are rejected.
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
/** In the mode `observe`, or with a given point, `req.permit` may be `observed`, without a question or an answer. */
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
  // Observed routes run as if there were no guard, even for callers that have disconnected.
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
    // If the request has moved on, a handler may be running with its admission.
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
  hearRoute(req)
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

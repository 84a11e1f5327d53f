import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ActionOutcome, type Admission, DeniedError } from '@countersign/client'
import type { NextFunction, Request, Response } from 'express'
import { denialOf } from './denial-of.js'
import { type GuardOptions, type GuardSettings, readGuardOptions } from './guard-options.js'
import { holdRequest } from './held-request.js'
import { answerPreflight } from './preflight.js'
import { goneSignal, mayHaveRun, type ResponseEnd, watchOtherAnswers, watchResponse } from './response-end.js'
import { AdmittedRoute } from './route-permit.js'
import { askedBy, type RouteQuestion } from './route-question.js'

/** Middleware for a route, whatever the types of its parameters. */
export type RouteGuard = (req: IncomingMessage, res: ServerResponse, next: NextFunction) => Promise<void>

/** Says that what the route called did not answer in time, and so nothing about whether it did what it was called for. */
const GATEWAY_TIMEOUT = 504

/** What the guards before this one have let through. */
const admitted = new WeakMap<Request, readonly Admission[]>()

/**
 * Lets a route run only on a decision that permits it, and settles the decision by how the response ends.
 *
 * To be put right before the handler. What it asks about is held: `body`, `query` and `params` change no more in the route.
 * A refusal goes to `next` as a RouteDeniedError: 403 for what may not run, 401 without an agent, 503 without an answer. When
 * the caller has left meanwhile, nothing runs. A preflight of CORS is answered 204, and nothing runs.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * const refunds = guard({
 *   client,
 *   action: 'payment.refund',
 *   resource: (req) => `order:${req.params.id}`,
 *   context: (req) => ({ amount: req.body.amount }),
 * })
 * app.post('/refunds/:id', express.json(), refunds, refund)
 *
 * Source: docs/express.md "Guard a route".
 */
export function guard<Req extends IncomingMessage = Request>(options: GuardOptions<Req>): RouteGuard {
  const settings = readGuardOptions(options as unknown as GuardOptions)
  return (req, res, next) => passGuard(settings, req as Request, res as Response, next)
}

async function passGuard(settings: GuardSettings, req: Request, res: Response, next: NextFunction): Promise<void> {
  if (answerPreflight(req, res)) return
  const gone = goneSignal(req, res)
  // Watched routes run as if there were no guard, for callers who have left too.
  const isWatched = settings.point.mode === 'observe'
  const isOtherwiseAnswered = watchOtherAnswers(res)
  const isAnswered = (): boolean => !isWatched && isOtherwiseAnswered()
  let admission: Admission | undefined
  try {
    admission = await admit(settings, req, isWatched ? undefined : gone)
    if (isAnswered()) return notBegun(admission)
    admission.begin()
    assertOthersHold(req)
    enter(settings, req, res, admission, gone)
  } catch (error) {
    if (admission !== undefined) notBegun(admission)
    if (!gone.aborted && !isAnswered()) next(denialOf(error))
    return
  }
  next()
}

function notBegun({ settle }: Admission): void {
  void settle.reject('the route did not run')
}

function admit(settings: GuardSettings, req: Request, signal: AbortSignal | undefined): Promise<Admission> {
  const { point, freeze } = settings
  let question: RouteQuestion | undefined
  let fault: unknown
  try {
    if (freeze && point.mode === 'enforce') holdRequest(req)
    question = askedBy(req, settings, admitted.get(req)?.length ?? 0)
  } catch (error) {
    fault = error
  }
  const request = () => {
    if (question === undefined) throw fault
    return question.request
  }
  return point.admit(request, { idempotencyKey: question?.idempotencyKey, signal })
}

/** @throws DeniedError when what an earlier guard of the route has let through is over by now */
function assertOthersHold(req: Request): void {
  for (const { kind, decision } of admitted.get(req) ?? []) {
    if (kind === 'permitted' && !(Date.parse(decision.expires_at) > Date.now())) {
      throw new DeniedError('expired', { decision_id: decision.id })
    }
  }
}

function enter(settings: GuardSettings, req: Request, res: Response, admission: Admission, gone: AbortSignal): void {
  const permit = new AdmittedRoute(admission)
  admitted.set(req, [...(admitted.get(req) ?? []), admission])
  req.permit = permit
  res.locals.permit = permit
  if (settings.settle === 'manual') return
  const onEnd = (end: ResponseEnd) => void admission.settle.by(outcomeOf(settings, req, res, end))
  watchResponse(res, { gone, graceMs: settings.graceMs, onEnd })
}

function outcomeOf({ outcome }: GuardSettings, req: Request, res: Response, end: ResponseEnd): ActionOutcome {
  if (end.kind !== 'answered') return end
  try {
    const given = outcome?.(req, res)
    if (given !== undefined) return given
  } catch (error) {
    return { kind: 'unknown', error }
  }
  const { statusCode } = res
  if (statusCode < 400) return { kind: 'succeeded', value: res }
  const isUnknown = statusCode === GATEWAY_TIMEOUT || mayHaveRun(end.error)
  return { kind: isUnknown ? 'unknown' : 'failed', error: end.error ?? statusCode }
}

/**
 * Turns the headers and raw body of a request into an answer. Nothing here depends on Express: a request is a plain
 * value.
 *
 * Order of checks: 503 while API keys cannot be validated, 401, route (404, 405), 429, 403 scope, 413 and 415, 400,
 * then the use case. Reading a body and waiting can take long, so the caller is authenticated again afterwards. Before
 * the answer is sent, the API checks again that the in-memory state that it was made from is fresh.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, LIMITS, type Scope, toPointer, validate } from '@countersign/contract'
import type { ScopeRule } from '@countersign/contract/operations'
import { parseTraceparent } from '@countersign/contract/traceparent'
import { type Caller, hasScope } from '../caller.js'
import { withDeadline } from '../concurrency/with-deadline.js'
import { DomainError, invalid } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import type { RequestSpan } from '../ports/tracer.js'
import type { Freshness, Snapshot } from '../state/freshness.js'
import type { Identified, Keys } from '../state/keys.js'
import { type BodySource, readBody } from './body.js'
import type { CallerStrategy } from './callers.js'
import { type Idempotency, idempotencyKeyOf } from './idempotency.js'
import type { LongWork, Place } from './long-work.js'
import { problemReply } from './problem.js'
import type { RateLimit } from './rate-limit.js'
import type { Answer, Reply } from './reply.js'
import { requestIdOf } from './request-id.js'
import { type Call, handled, isReading, type Route } from './route.js'
import type { UnreadAnswers } from './unread-answers.js'

/** A request as it was sent: a plain value, whether node:http or Express received it. */
export interface ApiRequest {
  /** The path without the query, as it was sent. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  /** The query text, without the question mark. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: BodySource
  /** False once the caller has disconnected. */
  readonly isWanted: () => boolean
  /** As in {@link Call}. */
  readonly signal: () => AbortSignal
  /** As in {@link Call}. */
  readonly span: RequestSpan | null
}

export interface ApiDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly keys: Pick<Keys, 'stillHolds'>
  readonly freshness: Freshness
  readonly rateLimit: RateLimit
  readonly idempotency: Idempotency
  readonly longWork: LongWork
  readonly unread: UnreadAnswers
  /** How long a call may take, on top of the wait that its caller asked for; null for no limit. */
  readonly answerMs: number | null
}

/** The facts that the answer and the log need, also when the request fails. */
interface Context {
  readonly requestId: string
  readonly traceId: string | null
  /** The method of the route; GET for a request without a route, which changes nothing. */
  method: Route['method']
  identified: Identified | null
  /** The in-memory state that the answer was made from; null when it used none. */
  snapshot: Snapshot | null
}

export class Api {
  constructor(private readonly deps: ApiDeps) {}

  /** Answers a request to a route. Never throws. */
  answer(callers: CallerStrategy, route: Route, request: ApiRequest): Promise<Answer> {
    return this.answered(request.headers, async (context) => {
      context.method = route.method
      const reply = await this.reply(callers, route, request, context)
      return callers.showsPermits ? reply : withoutPermit(reply)
    })
  }

  /**
   * Answers a request that matches no route with a problem. The 401 check comes first, as on every route. Never throws.
   */
  answerUnrouted(callers: CallerStrategy, headers: IncomingHttpHeaders, error: unknown): Promise<Answer> {
    return this.answered(headers, (context) => {
      this.identify(callers, headers, context)
      throw error
    })
  }

  /** Answers a request that needs no key. Never throws. */
  answerPublic(headers: IncomingHttpHeaders, make: () => Reply | Promise<Reply>): Promise<Answer> {
    return this.answered(headers, make)
  }

  /** Turns an answer into a problem with the same request id. */
  refuse({ requestId, keyId }: Answer, error: DomainError): Answer {
    return { reply: problemReply(error, requestId, this.deps.log), requestId, keyId }
  }

  private async reply(callers: CallerStrategy, route: Route, request: ApiRequest, context: Context): Promise<Reply> {
    const { headers, isWanted, signal, span } = request
    const { longWork } = this.deps
    const started = performance.now()
    const caller = this.identify(callers, headers, context)
    const authMs = performance.now() - started
    this.admit(route, caller)
    const call: Call = {
      caller,
      path: route.path,
      params: request.params,
      body: route.body && (await readBody(route.body, headers, this.readInTurn(caller.key.id, request.body))),
      query: readQuery(route, request.query),
      ifMatch: headers['if-match'],
      ifNoneMatch: headers['if-none-match'],
      // Node joins repeated headers with a comma.
      lastEventId: headers['last-event-id'] as string | undefined,
      requestId: context.requestId,
      idempotency: null,
      fingerprint: null,
      isWanted,
      signal,
      span,
      callerNow: () => {
        const current = this.identify(callers, headers, context)
        if (current.key !== caller.key) assertScopes(route.scopes, current)
        return current
      },
      authMs,
      pause: longWork.pauses(caller.key.id),
      outside: (wait) => wait(),
      inPlace: (work, patience) =>
        longWork.run(
          { keyId: caller.key.id, isWanted: patience.isBoundToEnd === true ? () => true : isWanted, ...patience },
          work,
        ),
    }
    const key = route.replay === undefined ? null : idempotencyKeyOf(headers)
    const waitMs = route.longPoll?.ms(call) ?? 0
    const identifyAgain = (): Call => ({ ...call, caller: call.callerNow() })
    if (route.isLong) return this.handleLong(route, call)
    const handle = async (): Promise<Reply> => {
      if (waitMs > 0) await route.longPoll?.wait(call, waitMs)
      const current = identifyAgain()
      if (route.isChange === true) context.snapshot = null
      return key === null ? handled(route, current) : this.deps.idempotency.once(route, request.path, key, current)
    }
    return route.isUnbounded === true ? handle() : this.inTime(handle(), waitMs)
  }

  /** Returns the answer, unless the in-memory state that it was made from has become too old. */
  private async answered(
    headers: IncomingHttpHeaders,
    make: (context: Context) => Reply | Promise<Reply>,
  ): Promise<Answer> {
    const { freshness, ids, log } = this.deps
    const requestId = requestIdOf(headers['x-request-id'], ids)
    const traceId = traceIdOf(headers)
    const context: Context = { requestId, traceId, method: 'GET', identified: null, snapshot: null }
    let reply: Reply
    try {
      reply = await make(context)
    } catch (error) {
      reply = problemReply(error, requestId, log)
    }
    const { snapshot, identified } = context
    const isFresh = snapshot === null || reply.status >= 500 || freshness.isCurrent(snapshot)
    if (!isFresh) reply = problemReply(new DomainError('replica_stale'), requestId, log)
    return { reply, requestId, keyId: identified?.key.id }
  }

  /**
   * Long work may wait for a place. Afterwards the caller is authenticated again, and a caller that disconnected gets
   * nothing. The deadline starts when the place is taken, because the wait before it is not the store's fault. Work
   * that passes its deadline keeps its place until it ends.
   */
  private async handleLong(route: Route, call: Call): Promise<Reply> {
    let begin = (): void => {}
    const hasBegun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const work = async ({ pause, outside }: Place): Promise<Reply> => {
      begin()
      const caller = call.callerNow()
      this.deps.unread.assertRoom(caller.key.id)
      return handled(route, {
        ...call,
        caller,
        pause,
        async outside(wait) {
          const result = await outside(wait)
          call.callerNow()
          return result
        },
      })
    }
    const reply = call.inPlace(work, { waitMs: this.deps.answerMs })
    await Promise.race([hasBegun, reply])
    return this.inTime(reply)
  }

  /** Parsing a body larger than any decision's is long work. */
  private readInTurn(keyId: string, source: BodySource): BodySource {
    return async (maxBytes) => {
      const bytes = await source(maxBytes)
      if (bytes !== null && bytes.length > LIMITS.decisionBodyBytes) await this.deps.longWork.turn(keyId)
      return bytes
    }
  }

  /** A call may query the store several times. The deadline limits the sum. */
  private inTime(reply: Promise<Reply>, waitMs = 0): Promise<Reply> {
    const { answerMs } = this.deps
    if (answerMs === null) return reply
    const late = () => new StoreUnavailableError(`The store did not finish the call within ${answerMs} ms.`)
    return withDeadline(reply, answerMs + waitMs, late)
  }

  /**
   * Identifies the caller as of now, because a body or a long poll can take long. Facts that have not changed are not
   * looked up again.
   *
   * @throws DomainError replica_stale (this process may not know yet of a new or a revoked key), unauthorized
   */
  private identify(callers: CallerStrategy, headers: IncomingHttpHeaders, context: Context): Caller {
    const { freshness, clock, keys } = this.deps
    const credential = context.identified === null ? callers.credentialOf(headers, context.method) : null
    const snapshot = freshness.snapshot()
    context.snapshot = snapshot
    const now = clock.now().toISOString()
    if (context.identified === null || !keys.stillHolds(context.identified, now))
      context.identified = callers.identify(credential ?? callers.credentialOf(headers, context.method), now)
    const recorded = () => {
      context.snapshot = null
    }
    const { identified, traceId } = context
    return { key: identified.key, traceId, holds: () => freshness.isCurrent(snapshot), recorded }
  }

  /** @throws DomainError rate_limited, insufficient_scope */
  private admit(route: Route, caller: Caller): void {
    this.deps.rateLimit.admit(caller.key.id)
    if (isReading(route)) this.deps.unread.assertRoom(caller.key.id)
    assertScopes(route.scopes, caller)
  }
}

/** Node joins repeated headers with a comma, which no valid header has. */
function traceIdOf({ traceparent }: IncomingHttpHeaders): string | null {
  return typeof traceparent === 'string' ? (parseTraceparent(traceparent)?.traceId ?? null) : null
}

function withoutPermit(reply: Reply): Reply {
  if (!isJsonObject(reply.body) || !('permit_token' in reply.body)) return reply
  const { permit_token: _permit, ...body } = reply.body
  return { ...reply, body }
}

/** @throws DomainError insufficient_scope */
function assertScopes(rule: ScopeRule, caller: Caller): void {
  const needed: readonly Scope[] =
    'all' in rule
      ? rule.all.filter((scope) => !hasScope(caller, scope)).slice(0, 1)
      : rule.any.some((scope) => hasScope(caller, scope))
        ? []
        : rule.any
  if (needed.length === 0) return
  const held = caller.key.scopes.join(', ')
  throw new DomainError('insufficient_scope', {
    detail: `This needs the scope ${needed.join(' or ')}; the key has ${held}.`,
  })
}

/** @throws DomainError validation_failed: a parameter is unknown, given twice, or invalid */
function readQuery(route: Route, text: string): unknown {
  const given: Record<string, string> = Object.create(null)
  const faults = []
  for (const [name, value] of new URLSearchParams(text)) {
    const pointer = toPointer([name])
    if (name in given) faults.push({ pointer, detail: 'is repeated' })
    else if (route.query === undefined || !Object.hasOwn(route.query.shape, name))
      faults.push({ pointer, detail: 'is not a query parameter of this endpoint' })
    else given[name] = value
  }
  if (faults.length > 0) throw invalid(faults)
  if (route.query === undefined) return undefined
  const checked = validate(route.query, { ...given })
  if (!checked.ok) throw invalid(checked.errors)
  return checked.value
}

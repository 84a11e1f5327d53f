/**
 * The API turns the headers and raw body of a request into an answer. Nothing here depends on Express: a request is a plain
 * value.
 *
 * Order of checks: 503 while API keys cannot be validated, 401, route (404, 405), 429, 403 scope, 413 and 415, 400, then the
 * use case. Reading a body and waiting can take long: afterwards the caller is authenticated again. Before the answer is
 * sent, the API checks again that the state in memory behind it is fresh.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { withDeadline } from '@countersign/concurrency'
import { LIMITS, type Scope, toPointer, validate } from '@countersign/contract'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { type Caller, hasScope } from '../caller.js'
import { DomainError, invalid } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import type { Freshness, Snapshot } from '../state/freshness.js'
import type { Keys } from '../state/keys.js'
import { authenticate, keyTextOf } from './authenticate.js'
import { type BodySource, readBody } from './body.js'
import { type Idempotency, idempotencyKeyOf } from './idempotency.js'
import type { LongWork, Pause } from './long-work.js'
import { problemReply } from './problem.js'
import type { RateLimit } from './rate-limit.js'
import type { Reply } from './reply.js'
import { requestIdOf, withRequestId } from './request-id.js'
import { type Call, isReading, type Route, type ScopeRule } from './route.js'
import type { UnreadAnswers } from './unread-answers.js'

export interface ApiRequest {
  /** The path without the query, as it was sent. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  /** The query text, without the question mark. */
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: BodySource
  /** False once the caller has gone. */
  readonly isWanted: () => boolean
}

export interface ApiDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly keys: Keys
  readonly freshness: Freshness
  readonly rateLimit: RateLimit
  readonly idempotency: Idempotency
  readonly longWork: LongWork
  readonly unread: UnreadAnswers
  /** How long a call may take, in addition to the wait that its caller asked for; null for no limit. */
  readonly answerMs: number | null
}

/** What the answer and the log need, also when the request fails. */
interface Context {
  readonly requestId: string
  keyId: string | undefined
  /** The state in memory that the answer was made from; null when it used none. */
  snapshot: Snapshot | null
}

export class Api {
  constructor(private readonly deps: ApiDeps) {}

  /** Answers a request to a route. Never throws. */
  async answer(route: Route, request: ApiRequest): Promise<Reply> {
    return this.guarded(request.headers, async (context) => {
      const started = performance.now()
      const caller = this.identify(request.headers, context)
      const authMs = performance.now() - started
      this.admit(route, caller)
      const call: Call = {
        caller,
        params: request.params,
        body: route.body && (await readBody(route.body, request.headers, this.readInTurn(request.body))),
        query: readQuery(route, request.query),
        ifMatch: request.headers['if-match'],
        requestId: context.requestId,
        idempotency: null,
        fingerprint: null,
        isWanted: request.isWanted,
        pause: this.deps.longWork.pauses(),
      }
      const key = route.replay === undefined ? null : idempotencyKeyOf(request.headers)
      const waitMs = route.longPoll?.ms(call) ?? 0
      const identifyAgain = (pause = call.pause): Call => {
        const current = { ...call, pause, caller: this.identify(request.headers, context) }
        assertScopes(route.scopes, current.caller)
        return current
      }
      const handle = async (): Promise<Reply> => {
        if (waitMs > 0) await route.longPoll?.wait(call, waitMs)
        const current = identifyAgain()
        if (route.isChange === true) context.snapshot = null
        return key === null ? route.handle(current) : this.deps.idempotency.once(route, request.path, key, current)
      }
      const reply = route.isLong ? this.handleLong(route, caller.key.id, identifyAgain) : this.inTime(handle(), waitMs)
      return withAuthTiming(await reply, authMs)
    })
  }

  /** Answers a request without a route with a problem. 401 comes first, as everywhere under /v1. Never throws. */
  async answerUnrouted(headers: IncomingHttpHeaders, error: unknown): Promise<Reply> {
    return this.guarded(headers, async (context) => {
      this.identify(headers, context)
      throw error
    })
  }

  /** Answers a request that needs no key. Never throws. */
  async answerPublic(headers: IncomingHttpHeaders, answer: () => Reply | Promise<Reply>): Promise<Reply> {
    return this.guarded(headers, async () => answer())
  }

  /** The problem for a request outside /v1 that fails. */
  problem(headers: IncomingHttpHeaders, error: unknown): Reply {
    const requestId = requestIdOf(headers['x-request-id'], this.deps.ids)
    return withRequestId(problemReply(error, requestId, this.deps.log), requestId)
  }

  private async guarded(headers: IncomingHttpHeaders, run: (context: Context) => Promise<Reply>): Promise<Reply> {
    const context: Context = {
      requestId: requestIdOf(headers['x-request-id'], this.deps.ids),
      keyId: undefined,
      snapshot: null,
    }
    const problem = (error: unknown): Reply => problemReply(error, context.requestId, this.deps.log)
    const made = await run(context).catch(problem)
    const isFresh = context.snapshot === null || made.status >= 500 || this.deps.freshness.isCurrent(context.snapshot)
    const reply = isFresh ? made : problem(new DomainError('replica_stale'))
    return { ...withRequestId(reply, context.requestId), keyId: context.keyId }
  }

  /**
   * Long work may wait for its turn. Then the caller is authenticated again, and a caller who has left gets nothing. The
   * deadline begins with the turn, because the wait before it is not the store's fault. Work that passes its deadline keeps
   * its slot until it ends.
   */
  private async handleLong(route: Route, keyId: string, identifyAgain: (pause: Pause) => Call): Promise<Reply> {
    let begin = (): void => {}
    const hasBegun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const work = async (pause: Pause): Promise<Reply> => {
      begin()
      const call = identifyAgain(pause)
      this.deps.unread.assertRoom(keyId)
      if (!call.isWanted()) throw new DomainError('rate_limited', { detail: 'The caller has disconnected.' })
      return route.handle(call)
    }
    const reply = this.deps.longWork.run(keyId, work, this.deps.answerMs)
    await Promise.race([hasBegun, reply])
    return this.inTime(reply)
  }

  /** Parsing a body that is larger than any decision's is long work. */
  private readInTurn(source: BodySource): BodySource {
    return async (maxBytes) => {
      const bytes = await source(maxBytes)
      if (bytes !== null && bytes.length > LIMITS.decisionBodyBytes) await this.deps.longWork.turn()
      return bytes
    }
  }

  /** A call may ask the store several times. The deadline bounds the sum. */
  private inTime(reply: Promise<Reply>, waitMs = 0): Promise<Reply> {
    const { answerMs } = this.deps
    if (answerMs === null) return reply
    const late = () => new StoreUnavailableError(`The store did not finish the call within ${answerMs} ms.`)
    return withDeadline(reply, answerMs + waitMs, late)
  }

  /** @throws DomainError replica_stale (this process may not know yet of a new or a revoked key), unauthorized */
  private identify(headers: IncomingHttpHeaders, context: Context): Caller {
    const text = keyTextOf(headers)
    const snapshot = this.deps.freshness.snapshot()
    context.snapshot = snapshot
    const key = authenticate(this.deps, text)
    context.keyId = key.id
    const recorded = () => {
      context.snapshot = null
    }
    return { key, holds: () => this.deps.freshness.isCurrent(snapshot), recorded }
  }

  /** @throws DomainError rate_limited, insufficient_scope */
  private admit(route: Route, caller: Caller): void {
    const waitSeconds = this.deps.rateLimit.take(caller.key.id)
    if (waitSeconds !== null)
      throw new DomainError('rate_limited', {
        detail: `Retry in ${waitSeconds} s.`,
        headers: { 'Retry-After': String(waitSeconds) },
      })
    if (isReading(route)) this.deps.unread.assertRoom(caller.key.id)
    assertScopes(route.scopes, caller)
  }
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

/** @throws DomainError validation_failed: a parameter that is unknown, given twice, or not valid */
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

function withAuthTiming(reply: Reply, authMs: number): Reply {
  const timing = reply.headers?.['Server-Timing']
  if (timing === undefined) return reply
  return { ...reply, headers: { ...reply.headers, 'Server-Timing': `auth;dur=${authMs.toFixed(3)}, ${timing}` } }
}

import type { AuthorizeRequest } from './authorize-request.js'
import { holderOf } from './call-names.js'
import { type CapabilitiesQuestion, readCapabilities } from './capabilities.js'
import { readDecisionAbout } from './decision-answer.js'
import { AdmittedDecisions } from './enforcement/admitted-decisions.js'
import type { Asked, GuardRequest } from './enforcement/arguments/asked.js'
import type { EnforcementOptions } from './enforcement/enforcement-options.js'
import {
  assertAction,
  type EnforcementCalls,
  EnforcementPoint,
  type FlushOptions,
} from './enforcement/enforcement-point.js'
import { GUARD_OPTIONS, type GuardOptions, PROTECT_OPTIONS, type ProtectOptions } from './enforcement/guard-options.js'
import type { GuardRun, PermittedRun } from './enforcement/guard-run.js'
import { OlderReviews } from './enforcement/older-reviews.js'
import { warnOfFaults } from './enforcement/operator-faults.js'
import { PendingReviews } from './enforcement/pending-reviews.js'
import type { RunContext } from './enforcement/run-context.js'
import { SettlementQueue } from './enforcement/settlement/settlement-queue.js'
import { assertOptions } from './known-options.js'
import type { CallOptions, CallSignal, CountersignOptions } from './options.js'
import { checkTimeout, resolveOptions, type Settings } from './options.js'
import { ownMembers } from './own-members.js'
import { Requester } from './requester.js'
import { Agents } from './resources/agents.js'
import { Audit } from './resources/audit.js'
import { Budgets } from './resources/budgets.js'
import { Decisions } from './resources/decisions.js'
import { type EventsOptions, eventsOf, type ReceivedEvent } from './resources/events.js'
import { Health } from './resources/health.js'
import { Keys } from './resources/keys.js'
import { Permits } from './resources/permits.js'
import { Policies } from './resources/policies.js'
import { Webhooks } from './resources/webhooks.js'
import type { OpenTransport } from './transport.js'
import type {
  Capabilities,
  Decision,
  JsonObject,
  Jwks,
  SimulateRequest,
  SimulateResponse,
  Stats,
  StatsGroup,
  StatsInterval,
} from './wire.js'

/** @internal What an entry point of the package brings. */
export interface Platform {
  readonly openTransport: OpenTransport
  readonly runContext: RunContext
}

/** What decisions are counted. */
export interface StatsQuery {
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
  /** The length of a bucket. */
  readonly interval?: StatsInterval | undefined
  /** Counts each value of this apart. */
  readonly group?: StatsGroup | undefined
}

/** The largest answer that is read: 200 decisions with the largest contexts, or 50 of the largest policies, are below it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const FLUSH_MS = 10_000

/**
 * A client of one decision point: everything apart from the network, which an entry point of the package brings.
 *
 * Holds its secrets in private fields, so that neither `util.inspect` nor `JSON.stringify` shows them.
 */
export abstract class CountersignClient {
  readonly policies: Policies
  readonly keys: Keys
  readonly agents: Agents
  readonly decisions: Decisions
  readonly budgets: Budgets
  readonly permits: Permits
  readonly audit: Audit
  readonly webhooks: Webhooks
  readonly health: Health
  readonly #settings: Settings
  readonly #platform: Platform
  readonly #requester: Requester
  /** The holders of the decisions that were returned, for as long as the caller keeps those. */
  readonly #holders = new WeakMap<Decision, string>()
  readonly #enforcing: EnforcementCalls

  /** @internal */
  protected constructor(options: CountersignOptions, platform: Platform, unheard = warnOfFaults) {
    this.#settings = resolveOptions(options, globalThis.process?.env ?? {})
    this.#platform = platform
    const { connectTimeoutMs } = this.#settings
    this.#requester = new Requester(
      this.#settings,
      platform.openTransport({ connectTimeoutMs, maxBytes: MAX_ANSWER_BYTES }),
    )
    this.policies = new Policies(this.#requester)
    this.keys = new Keys(this.#requester)
    this.agents = new Agents(this.#requester)
    this.decisions = new Decisions(this.#requester, this.#holders)
    this.budgets = new Budgets(this.#requester)
    this.permits = new Permits(this.#requester)
    this.audit = new Audit(this.#requester)
    this.webhooks = new Webhooks(this.#requester)
    this.health = new Health(this.#requester)
    this.#enforcing = {
      agentOf: (agent_id) => this.#agentOf({ agent_id }),
      authorize: (request, lateMs, requestId) => this.#authorize(request, lateMs, requestId),
      decision: (id, options) => this.decisions.get(id, options),
      waitForReview: (decision, options) => this.decisions.waitForReview(decision, options),
      redeem: (permit_token, options) => this.permits.redeem(permit_token, options),
      settlements: new SettlementQueue(this.decisions, this.#requester),
      flush: (flushing) => this.flush(flushing),
      admitted: AdmittedDecisions.ofProcess,
      pendingReviews: new PendingReviews(),
      olderReviews: new OlderReviews(this.decisions),
      timeoutMs: this.#settings.timeoutMs,
      unheard,
      runContext: platform.runContext,
    }
  }

  /**
   * Asks whether an agent may do an action. A deny and a review are decisions like any other: look before acting, best by
   * `isPermitted`.
   *
   * Safe to repeat: every call carries an idempotency key and a holder, both random unless given, the same on each retry. A
   * job that may restart gives both, so that it gets the same decision again and no other job runs it.
   *
   * @throws TypeError, before anything is sent, for an `agent_id` other than the client's own, or none at all
   * @throws ApiError validation_failed, agent_not_allowed, already_claimed, rate_limited, store_unavailable, …
   * @throws UnavailableError when no answer came, or one that is not a decision about this agent, action and resource
   *
   * @example
   * const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
   * const decision = await client.authorize({ ...asked, context: { amount: 42.5, currency: 'EUR' } })
   *
   * Source: docs/sdk.md "Ask before you act".
   */
  async authorize(request: AuthorizeRequest): Promise<Decision> {
    return this.#authorize(request)
  }

  /** @param lateMs how long an answer is still taken after the time limit, in milliseconds */
  async #authorize(request: AuthorizeRequest, lateMs?: number, requestId?: string): Promise<Decision> {
    const { idempotencyKey = true, signal, timeoutMs, ...given } = request
    const body = { ...given, agent_id: this.#agentOf(given), holder: holderOf(given.holder ?? crypto.randomUUID()) }
    const headers = requestId === undefined ? {} : { 'x-request-id': requestId }
    const call = { method: 'POST', path: '/v1/decisions', headers, body, idempotencyKey, lateMs } as const
    const answer = await this.#requester.send({ ...call, options: { signal, timeoutMs } })
    const decision = readDecisionAbout('POST /v1/decisions', answer, body)
    this.#holders.set(decision, body.holder)
    return decision
  }

  /**
   * Runs an action if it may: asks, checks the answer, runs the action once with a frozen copy of what was asked about, and
   * confirms or rejects by how it ended. Resolves or rejects as the action does; a settlement that fails changes nothing
   * about that.
   *
   * @throws DeniedError when it may not run, for whatever reason: it has not run then
   * @throws the signal's reason, when it was aborted before it began
   * @throws TypeError for faulty options
   *
   * @example
   * const refund = { action: 'payment.refund', resource: 'order:8812', context: { amount: 42.5 } }
   * const receipt = await client.guard(refund, async ({ context }) => pay(context.amount))
   *
   * Source: docs/enforcement.md "Guard an action".
   */
  guard<Result, Context extends JsonObject | null = null, Signal extends CallSignal = CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: PermittedRun<Signal>) => Result,
    options?: GuardOptions<Signal> & { readonly mode?: 'enforce' | undefined },
  ): Promise<Awaited<Result>>
  /** In the mode `observe` there may be no decision, and no permit. */
  guard<Result, Context extends JsonObject | null = null, Signal extends CallSignal = CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: GuardRun<Signal>) => Result,
    options: GuardOptions<Signal>,
  ): Promise<Awaited<Result>>
  async guard<Result, Context extends JsonObject | null, Signal extends CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: PermittedRun<Signal>) => Result,
    options: GuardOptions<Signal> = {},
  ): Promise<Awaited<Result>> {
    assertAction(action)
    assertOptions('guard', options, GUARD_OPTIONS)
    const { signal, idempotencyKey, holder, claimHolder, variant, tag, nested, ...enforcement } = ownMembers(options)
    const admit = { signal, idempotencyKey, holder, claimHolder, variant, tag, nested }
    // Whole wherever the overloads say so.
    const run = action as (asked: Asked<Context>, run: GuardRun<Signal>) => Result
    return this.enforcement(enforcement).guard(request, run, admit)
  }

  /**
   * A function of the same parameters that runs `fn` only if it may. The arguments are copied and frozen when it is called:
   * what was asked about is what runs.
   *
   * @throws TypeError for a faulty mapping or option; the function itself rejects as `guard` does
   *
   * @example
   * const refund = client.protect(pay, {
   *   action: 'payment.refund',
   *   resource: (orderId) => `order:${orderId}`,
   *   context: (_orderId, amount) => ({ amount }),
   * })
   *
   * Source: docs/enforcement.md "Protect a function".
   */
  protect<Args extends readonly unknown[], Result>(
    fn: (...args: Args) => Result,
    options: ProtectOptions<Args>,
  ): (...args: Args) => Promise<Awaited<Result>> {
    assertOptions('protect', options, PROTECT_OPTIONS)
    const { action, resource, context, agent_id, idempotencyKey, holder, tag, signal, bind, ...enforcement } =
      ownMembers(options)
    const mapping = { action, resource, context, agent_id, idempotencyKey, holder, tag, signal, bind }
    return this.enforcement(enforcement).protect(fn, mapping)
  }

  /**
   * Where actions are stopped or let through, with options of its own: for what guards many actions in the same way, and for
   * integrations.
   *
   * @throws TypeError naming the faulty option
   *
   * Source: docs/enforcement.md "Write an integration".
   */
  enforcement(options: EnforcementOptions = {}): EnforcementPoint {
    return new EnforcementPoint(this.#enforcing, options)
  }

  /**
   * Sends the settlements of guarded actions that are still in the queue, and resolves with the number of those that remain after the
   * time limit. For a program that ends by `process.exit` or by a signal.
   */
  async flush({ timeoutMs = FLUSH_MS }: FlushOptions = {}): Promise<number> {
    return this.#enforcing.settlements.flush(checkTimeout('timeoutMs', timeoutMs))
  }

  /**
   * Which effects an agent can ever get for each of up to 1,000 actions, in the order asked: for hiding tools whose effects are
   * `deny` alone. None that can occur by the policies of now is left out. It permits nothing and is recorded nowhere: ask
   * with `authorize` or `guard` all the same.
   *
   * @throws TypeError, before anything is sent, for an `agent_id` other than the client's own, or none at all
   * @throws ApiError validation_failed, agent_not_allowed, rate_limited
   * @throws UnavailableError when no answer came, or one that does not tell just these actions of this agent
   *
   * @example
   * const { data } = await client.capabilities({ agent_id: 'agent:support-7', actions: ['payment.refund', 'email.send'] })
   * const hidden = data.filter(({ effects }) => effects.every((effect) => effect === 'deny'))
   *
   * Source: docs/decisions.md "What an agent can ever get".
   */
  async capabilities(question: CapabilitiesQuestion, options?: CallOptions): Promise<Capabilities> {
    const body = { agent_id: this.#agentOf(question), actions: question.actions }
    const answer = await this.#requester.send({ method: 'POST', path: '/v1/capabilities', body, options })
    return readCapabilities('POST /v1/capabilities', answer, body)
  }

  /**
   * What would be decided, by the stored policies or by `policies` in their place. Stores nothing, permits nothing.
   *
   * @throws ApiError validation_failed
   */
  async simulate(simulation: SimulateRequest, options?: CallOptions): Promise<SimulateResponse> {
    return (await this.#requester.send({
      method: 'POST',
      path: '/v1/simulate',
      body: simulation,
      options,
    })) as SimulateResponse
  }

  /**
   * Every change of a decision from now on, or from behind `lastEventId`, as it happens. Goes on over lost connections and
   * restarts of the decision point, and yields no event twice. Ends with the signal or a `break`.
   *
   * @throws TypeError for an option that is not known
   * @throws ApiError validation_failed, invalid_cursor, unauthorized, insufficient_scope, …, while it is iterated
   * @throws UnavailableError when the answer is not a stream of events, or the client is closed
   *
   * @example
   * for await (const { type, data } of client.events({ effect: 'deny' })) console.log(type, data.action, data.reason)
   *
   * Source: docs/sdk.md "Live events".
   */
  events(options: EventsOptions = {}): AsyncGenerator<ReceivedEvent, void, undefined> {
    return eventsOf(this.#requester, options)
  }

  /** How many decisions there were, of which effects, how fast, and what became of the budgets. @throws ApiError validation_failed */
  async stats(query: StatsQuery = {}, options?: CallOptions): Promise<Stats> {
    return (await this.#requester.send({ method: 'GET', path: '/v1/stats', query: { ...query }, options })) as Stats
  }

  /** The public keys that verify permits offline. */
  async jwks(options?: CallOptions): Promise<Jwks> {
    const call = { method: 'GET', path: '/.well-known/jwks.json', isAuthenticated: false, options } as const
    return (await this.#requester.send(call)) as Jwks
  }

  /**
   * Ends calls in progress with an UnavailableError, and every connection. A closed client refuses further calls, and drops
   * the settlements in the queue: call `flush` first.
   */
  close(): void {
    this.#enforcing.settlements.close()
    this.#requester.close()
  }

  /** @internal A client of the same decision point, key and agent over another transport; it warns of nothing. */
  over(openTransport: (own: OpenTransport) => OpenTransport, change?: CountersignOptions): CountersignClient {
    const platform = { ...this.#platform, openTransport: openTransport(this.#platform.openTransport) }
    return new ClientOver({ ...this.#settings, ...change }, platform, () => undefined)
  }

  #agentOf({ agent_id }: Pick<AuthorizeRequest, 'agent_id'>): string {
    const own = this.#settings.agentId
    const asked = agent_id ?? own
    if (asked === undefined) throw new TypeError('agent_id is missing: give it, or agentId to the client')
    if (own !== undefined && asked !== own) {
      throw new TypeError(`agent_id has to be ${own}, the agent that this client was made for`)
    }
    return asked
  }
}

class ClientOver extends CountersignClient {}

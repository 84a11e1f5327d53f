import { nameOf } from './call.js'
import { holderOf } from './call-names.js'
import { type CapabilitiesQuestion, readCapabilities } from './capabilities.js'
import { readDecisionAbout } from './decision-answer.js'
import { AdmittedDecisions } from './enforcement/asking/admitted-decisions.js'
import type { Asked, GuardRequest } from './enforcement/asking/asked.js'
import type { EnforcementCalls, FlushOptions } from './enforcement/enforcement-calls.js'
import type { EnforcementOptions } from './enforcement/enforcement-options.js'
import { assertAction, EnforcementPoint } from './enforcement/enforcement-point.js'
import { GUARD_OPTIONS, type GuardOptions, PROTECT_OPTIONS, type ProtectOptions } from './enforcement/guard-options.js'
import { warnOfFaults } from './enforcement/reporting/operator-faults.js'
import { LeftReviews } from './enforcement/reviews/left-reviews.js'
import type { GuardRun, PermittedRun } from './enforcement/running/guard-run.js'
import type { RunContext } from './enforcement/running/run-context.js'
import type { SharedDecision } from './enforcement/running/shared-decision.js'
import { SettlementQueue } from './enforcement/settling/settlement-queue.js'
import type { ReceivedEvent } from './event-stream.js'
import { knownOptions } from './known-options.js'
import { answerOf, callOf } from './operation.js'
import {
  type AuthorizeRequest,
  type CallOptions,
  type CallSignal,
  type CountersignOptions,
  checkTimeout,
  resolveOptions,
  type Settings,
} from './options.js'
import { Requester } from './requester.js'
import { Agents } from './resources/agents.js'
import { Audit } from './resources/audit.js'
import { Budgets } from './resources/budgets.js'
import { Decisions } from './resources/decisions.js'
import { type EventsOptions, eventsOf } from './resources/events.js'
import { Health } from './resources/health.js'
import { Keys } from './resources/keys.js'
import { Permits } from './resources/permits.js'
import { Policies } from './resources/policies.js'
import { Webhooks } from './resources/webhooks.js'
import { inDecisionSpan } from './tracing/decision-span.js'
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

/** @internal The parts that an entry point of the package provides. */
export interface Platform {
  readonly openTransport: OpenTransport
  readonly runContext: RunContext<SharedDecision>
}

/** Selects the decisions to count. */
export interface StatsQuery {
  /** At this time or later. */
  readonly from?: string | undefined
  /** Before this time. */
  readonly to?: string | undefined
  /** The length of a bucket. */
  readonly interval?: StatsInterval | undefined
  /** Counts each value of this member separately. */
  readonly group?: StatsGroup | undefined
}

/**
 * The largest answer that is read: larger than 200 decisions with the largest contexts, or 50 of the largest policies.
 */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const FLUSH_MS = 10_000

/**
 * A client of one decision point, without the network, which an entry point of the package provides.
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
  /** The holders of the decisions that were returned, for as long as the caller keeps the decisions. */
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
      decisions: this.decisions,
      permits: this.permits,
      settlements: new SettlementQueue(this.decisions, this.#requester),
      flush: (flushing) => this.flush(flushing),
      admitted: AdmittedDecisions.ofProcess,
      leftReviews: new LeftReviews(this.decisions),
      timeoutMs: this.#settings.timeoutMs,
      unheard,
      runContext: platform.runContext,
    }
  }

  /**
   * Asks whether an agent may run an action. A deny and a review are ordinary decisions: check the result before
   * acting, best with `isPermitted`.
   *
   * Safe to repeat: every call has an idempotency key and a holder, random unless given, and the same on each retry. A
   * job that may restart should give both, so that it gets the same decision again and no other job runs the action.
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
    const { action } = request
    return inDecisionSpan({ agent_id: this.#agentOf(request), action }, async (span) => {
      try {
        const decision = await this.#authorize(request)
        span.decided(decision)
        return decision
      } catch (error) {
        span.failed(error)
        throw error
      }
    })
  }

  /** @param lateMs how long after the time limit an answer is still accepted, in milliseconds */
  async #authorize(request: AuthorizeRequest, lateMs?: number, requestId?: string): Promise<Decision> {
    const { idempotencyKey, signal, timeoutMs, ...given } = request
    const body = { ...given, agent_id: this.#agentOf(given), holder: holderOf(given.holder ?? crypto.randomUUID()) }
    const headers = requestId === undefined ? {} : { 'x-request-id': requestId }
    const options = { idempotencyKey, signal, timeoutMs }
    const call = callOf('decisions.decide', { headers, body, lateMs, options })
    const decision = readDecisionAbout(nameOf(call), await this.#requester.send(call), body)
    this.#holders.set(decision, body.holder)
    return decision
  }

  /**
   * Runs an action if it is permitted: asks, checks the answer, runs the action once with a frozen copy of the
   * question, and confirms or rejects the decision depending on how the action ended. Resolves or rejects like the
   * action; a failed settlement does not change that.
   *
   * @throws DeniedError when the action may not run, for any reason: it has not run then
   * @throws the signal's reason, when it was aborted before the action began
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
  /** In the mode `observe` the decision and the permit may be missing. */
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
    const own = knownOptions('guard', options, GUARD_OPTIONS)
    const { signal, idempotencyKey, holder, claimHolder, variant, tag, nested, ...enforcement } = own
    const admit = { signal, idempotencyKey, holder, claimHolder, variant, tag, nested }
    // Complete wherever the overloads say so.
    const run = action as (asked: Asked<Context>, run: GuardRun<Signal>) => Result
    return this.enforcement(enforcement).guard(request, run, admit)
  }

  /**
   * Returns a function with the same parameters that runs `fn` only if it is permitted. The arguments are copied and
   * frozen at the call: `fn` runs with exactly what was asked about.
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
    const own = knownOptions('protect', options, PROTECT_OPTIONS)
    const { action, resource, context, agent_id, idempotencyKey, holder, tag, signal, bind, ...enforcement } = own
    const mapping = { action, resource, context, agent_id, idempotencyKey, holder, tag, signal, bind }
    return this.enforcement(enforcement).protect(fn, mapping)
  }

  /**
   * Creates a point where actions are stopped or let through, with its own options: for code that guards many actions
   * in the same way, and for integrations.
   *
   * @throws TypeError naming the faulty option
   *
   * Source: docs/enforcement.md "Write an integration".
   */
  enforcement(options: EnforcementOptions = {}): EnforcementPoint {
    return new EnforcementPoint(this.#enforcing, options)
  }

  /**
   * Sends the queued settlements of guarded actions, and resolves with the number of those left after the time limit.
   * Call it in a program that ends by `process.exit` or by a signal.
   */
  async flush({ timeoutMs = FLUSH_MS }: FlushOptions = {}): Promise<number> {
    return this.#enforcing.settlements.flush(checkTimeout('timeoutMs', timeoutMs))
  }

  /**
   * Lists the effects that an agent can ever get for each of up to 1,000 actions, in the given order. Use it to hide
   * tools whose only effect is `deny`. Every effect that the current policies allow is listed. The call permits nothing
   * and is not recorded: still ask with `authorize` or `guard`.
   *
   * @throws TypeError, before anything is sent, for an `agent_id` other than the client's own, or none at all
   * @throws ApiError validation_failed, agent_not_allowed, rate_limited
   * @throws UnavailableError when no answer came, or one that is not about exactly these actions of this agent
   *
   * @example
   * const { data } = await client.capabilities({ agent_id: 'agent:support-7', actions: ['payment.refund', 'email.send'] })
   * const hidden = data.filter(({ effects }) => effects.every((effect) => effect === 'deny'))
   *
   * Source: docs/decisions.md "What an agent can ever get".
   */
  async capabilities(question: CapabilitiesQuestion, options?: CallOptions): Promise<Capabilities> {
    const body = { agent_id: this.#agentOf(question), actions: question.actions }
    const call = callOf('decisions.capabilities', { body, options })
    return readCapabilities(nameOf(call), await this.#requester.send(call), body)
  }

  /**
   * Returns the decision that the stored policies, or `policies` instead of them, would make. Stores nothing, permits
   * nothing.
   *
   * @throws ApiError validation_failed
   */
  async simulate(simulation: SimulateRequest, options?: CallOptions): Promise<SimulateResponse> {
    return answerOf(this.#requester, 'policies.simulate', { body: simulation, options })
  }

  /**
   * Yields every change of a decision as it happens, from now on or after `lastEventId`. Reconnects after lost
   * connections and restarts of the decision point, and yields no event twice. Ends with the signal or a `break`.
   *
   * @throws TypeError for an unknown option
   * @throws ApiError validation_failed, invalid_cursor, unauthorized, insufficient_scope, …, during the iteration
   * @throws UnavailableError when the answer is not a stream of events, or the client is closed
   *
   * @example
   * for await (const { type, data } of client.events({ effect: 'deny' })) console.log(type, data.action, data.reason)
   *
   * Source: docs/sdk-methods.md "Live events".
   */
  events(options: EventsOptions = {}): AsyncGenerator<ReceivedEvent, void, undefined> {
    return eventsOf(this.#requester, options)
  }

  /** Counts decisions by effect, with their latency and the money of the budgets. @throws ApiError validation_failed */
  async stats(query: StatsQuery = {}, options?: CallOptions): Promise<Stats> {
    return answerOf(this.#requester, 'stats.get', { query, options })
  }

  /** Returns the public keys that verify permits offline. */
  async jwks(options?: CallOptions): Promise<Jwks> {
    const call = { method: 'GET', path: '/.well-known/jwks.json', isAuthenticated: false, options } as const
    return (await this.#requester.send(call)) as Jwks
  }

  /**
   * Ends calls in progress with an UnavailableError, and closes every connection. A closed client refuses further
   * calls, and drops the queued settlements: call `flush` first.
   */
  close(): void {
    this.#enforcing.settlements.close()
    this.#requester.close()
  }

  /**
   * @internal Returns a client of the same decision point, key and agent over another transport; it gives no warnings.
   */
  over(openTransport: (own: OpenTransport) => OpenTransport, change?: CountersignOptions): CountersignClient {
    const platform = { ...this.#platform, openTransport: openTransport(this.#platform.openTransport) }
    return new ClientOver({ ...this.#settings, ...change }, platform, () => undefined)
  }

  #agentOf({ agent_id }: Pick<AuthorizeRequest, 'agent_id'>): string {
    const own = this.#settings.agentId
    const asked = agent_id ?? own
    if (asked === undefined) throw new TypeError('agent_id is missing: pass it, or agentId to the client')
    if (own !== undefined && asked !== own) {
      throw new TypeError(`agent_id must be ${own}, the agent of this client`)
    }
    return asked
  }
}

class ClientOver extends CountersignClient {}

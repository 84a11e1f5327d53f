import { Asker } from './asker.js'
import { BaseClient } from './base-client.js'
import { nameOf } from './call.js'
import { type CapabilitiesQuestion, readCapabilities } from './capabilities.js'
import { CAPABILITY_ENDPOINTS, POLICY_ENDPOINTS, STATS_ENDPOINTS } from './endpoints.js'
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
import { HASHED_NAMES } from './hashed-names.js'
import { knownOptions, OPTION_OWNERS } from './known-options.js'
import { answerOf, callOf } from './operation.js'
import {
  type CallOptions,
  type CallSignal,
  type CountersignOptions,
  checkTimeout,
  resolveOptions,
  type Settings,
} from './options.js'
import type { ReceivedEvent } from './received-event.js'
import { Agents } from './resources/agents.js'
import { Audit } from './resources/audit.js'
import { Budgets } from './resources/budgets.js'
import { type EventsOptions, eventsOf } from './resources/events.js'
import { Health } from './resources/health.js'
import { Keys } from './resources/keys.js'
import { Permits } from './resources/permits.js'
import { Policies } from './resources/policies.js'
import { Webhooks } from './resources/webhooks.js'
import { StreamRequester } from './stream-requester.js'
import { type OpenTransport, transportOf } from './transport.js'
import type {
  Capabilities,
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

const FLUSH_MS = 10_000

/**
 * A client of one decision point, without the network, which an entry point of the package provides.
 *
 * Holds its secrets in private fields, so that neither `util.inspect` nor `JSON.stringify` shows them.
 */
export abstract class CountersignClient extends BaseClient {
  readonly policies: Policies
  readonly keys: Keys
  readonly agents: Agents
  readonly budgets: Budgets
  readonly permits: Permits
  readonly audit: Audit
  readonly webhooks: Webhooks
  readonly health: Health
  readonly #settings: Settings
  readonly #platform: Platform
  readonly #requester: StreamRequester
  readonly #asker: Asker
  readonly #enforcing: EnforcementCalls

  /** @internal */
  protected constructor(options: CountersignOptions, platform: Platform, unheard = warnOfFaults) {
    const settings = resolveOptions('Countersign', options, OPTION_OWNERS)
    const requester = new StreamRequester(settings, transportOf(settings, platform.openTransport), HASHED_NAMES)
    const asker = new Asker(requester, settings.agentId)
    super(asker)
    this.#settings = settings
    this.#platform = platform
    this.#requester = requester
    this.#asker = asker
    this.policies = new Policies(this.#requester)
    this.keys = new Keys(this.#requester)
    this.agents = new Agents(this.#requester)
    this.budgets = new Budgets(this.#requester)
    this.permits = new Permits(this.#requester)
    this.audit = new Audit(this.#requester)
    this.webhooks = new Webhooks(this.#requester)
    this.health = new Health(this.#requester)
    this.#enforcing = {
      agentOf: (agent_id) => asker.agentOf({ agent_id }),
      authorize: (request, lateMs, requestId) =>
        asker.ask(request, { lateMs, ...(requestId !== undefined && { headers: { 'x-request-id': requestId } }) }),
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
    const body = { agent_id: this.#asker.agentOf(question), actions: question.actions }
    const call = callOf(CAPABILITY_ENDPOINTS['decisions.capabilities'], { body, options })
    return readCapabilities(nameOf(call), await this.#requester.send(call), body)
  }

  /**
   * Returns the decision that the stored policies, or `policies` instead of them, would make. Stores nothing, permits
   * nothing.
   *
   * @throws ApiError validation_failed
   */
  async simulate(simulation: SimulateRequest, options?: CallOptions): Promise<SimulateResponse> {
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.simulate'], { body: simulation, options })
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
    return answerOf(this.#requester, STATS_ENDPOINTS['stats.get'], { query, options })
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
  override close(): void {
    this.#enforcing.settlements.close()
    super.close()
  }

  /**
   * @internal Returns a client of the same decision point, key and agent over another transport; it gives no warnings.
   */
  over(openTransport: (own: OpenTransport) => OpenTransport, change?: CountersignOptions): CountersignClient {
    const platform = { ...this.#platform, openTransport: openTransport(this.#platform.openTransport) }
    return new ClientOver({ ...this.#settings, ...change }, platform, () => undefined)
  }
}

class ClientOver extends CountersignClient {}

import { readDecisionAbout } from './decision-answer.js'
import type { CallOptions, CountersignOptions, IdempotentCallOptions } from './options.js'
import { resolveOptions } from './options.js'
import { Requester } from './requester.js'
import { Agents } from './resources/agents.js'
import { Audit } from './resources/audit.js'
import { Budgets } from './resources/budgets.js'
import { Decisions } from './resources/decisions.js'
import { Health } from './resources/health.js'
import { Keys } from './resources/keys.js'
import { Permits } from './resources/permits.js'
import { Policies } from './resources/policies.js'
import type { OpenTransport } from './transport.js'
import type { Decision, DecisionRequest, Jwks, SimulateRequest, SimulateResponse } from './wire.js'

/** The largest answer that is read: 200 decisions with the largest contexts, or 50 of the largest policies, are below it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** The question, with what steers the call beside it: members in snake_case go on the wire, those in camelCase do not. */
export interface AuthorizeRequest extends Omit<DecisionRequest, 'agent_id'>, IdempotentCallOptions {
  /** Default: the client's `agentId`; another one than that is refused. Needed when the client has none. */
  readonly agent_id?: string | undefined
}

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
  readonly health: Health
  readonly #agentId: string | undefined
  readonly #requester: Requester
  /** Who asked for the decisions that were returned, for as long as the caller keeps them. */
  readonly #holders = new WeakMap<Decision, string>()

  /** @internal */
  protected constructor(options: CountersignOptions, openTransport: OpenTransport) {
    const settings = resolveOptions(options, globalThis.process?.env ?? {})
    const { connectTimeoutMs } = settings
    this.#agentId = settings.agentId
    this.#requester = new Requester(settings, openTransport({ connectTimeoutMs, maxBytes: MAX_ANSWER_BYTES }))
    this.policies = new Policies(this.#requester)
    this.keys = new Keys(this.#requester)
    this.agents = new Agents(this.#requester)
    this.decisions = new Decisions(this.#requester, this.#holders)
    this.budgets = new Budgets(this.#requester)
    this.permits = new Permits(this.#requester)
    this.audit = new Audit(this.#requester)
    this.health = new Health(this.#requester)
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
    const { idempotencyKey = true, signal, timeoutMs, ...given } = request
    const body = { ...given, agent_id: this.#agentOf(given), holder: given.holder ?? crypto.randomUUID() }
    const options = { signal, timeoutMs }
    const answer = await this.#requester.send({ method: 'POST', path: '/v1/decisions', body, idempotencyKey, options })
    const decision = readDecisionAbout('POST /v1/decisions', answer, body)
    this.#holders.set(decision, body.holder)
    return decision
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

  /** The public keys that verify permits offline. */
  async jwks(options?: CallOptions): Promise<Jwks> {
    const call = { method: 'GET', path: '/.well-known/jwks.json', isAuthenticated: false, options } as const
    return (await this.#requester.send(call)) as Jwks
  }

  /** Ends calls under way with an UnavailableError, and every connection. A closed client refuses further calls. */
  close(): void {
    this.#requester.close()
  }

  #agentOf({ agent_id }: Pick<AuthorizeRequest, 'agent_id'>): string {
    const own = this.#agentId
    const asked = agent_id ?? own
    if (asked === undefined) throw new TypeError('agent_id is missing: give it, or agentId to the client')
    if (own !== undefined && asked !== own) {
      throw new TypeError(`agent_id has to be ${own}, the agent that this client was made for`)
    }
    return asked
  }
}

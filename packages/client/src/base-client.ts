import { Asker } from './asker.js'
import { CallNames } from './call-names.js'
import { type AuthorizeRequest, type CountersignOptions, resolveOptions } from './options.js'
import { Requester } from './requester.js'
import { Decisions } from './resources/decisions.js'
import { inDecisionSpan } from './tracing/decision-span.js'
import { type OpenTransport, transportOf } from './transport.js'
import type { Decision } from './wire.js'

/**
 * What every client has: it asks for decisions, waits for reviews and settles.
 *
 * Holds its secrets in private fields, so that neither `util.inspect` nor `JSON.stringify` shows them.
 */
export abstract class BaseClient {
  readonly decisions: Decisions
  readonly #asker: Asker

  /** @internal */
  protected constructor(asker: Asker) {
    this.#asker = asker
    this.decisions = new Decisions(asker.requester, asker.holders)
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
    return inDecisionSpan({ agent_id: this.#asker.agentOf(request), action }, async (span) => {
      try {
        const decision = await this.#asker.ask(request)
        span.decided(decision)
        return decision
      } catch (error) {
        span.failed(error)
        throw error
      }
    })
  }

  /** Ends calls in progress with an UnavailableError, and closes every connection. A closed client refuses further calls. */
  close(): void {
    this.#asker.requester.close()
  }
}

/**
 * @internal For a client that only asks.
 * @throws TypeError naming the faulty option of the class
 */
export function askerOf(of: string, options: CountersignOptions, openTransport: OpenTransport): Asker {
  const settings = resolveOptions(of, options)
  return new Asker(new Requester(settings, transportOf(settings, openTransport), new CallNames()), settings.agentId)
}

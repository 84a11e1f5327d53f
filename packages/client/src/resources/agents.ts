import { AGENT_ENDPOINTS } from '../endpoints.js'
import { answerOf } from '../operation.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { Agent, AgentCreate, AgentUpdate } from '../wire.js'

/** The options of a suspension. */
export interface SuspendOptions extends IdempotentCallOptions {
  /** Up to 512 characters, stored with the agent and in the audit log. */
  readonly reason?: string | undefined
}

/** Manages agents. An agent needs no registration to ask for decisions. Source: docs/sdk-methods.md "Methods". */
export class Agents {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Registers an agent, so that policies can compare its metadata. @throws ApiError validation_failed, agent_exists */
  async create(agent: AgentCreate, options?: IdempotentCallOptions): Promise<Agent> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.create'], { body: agent, options })
  }

  /** Returns an agent that is registered, was seen or is suspended. @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Agent> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.get'], { params: { id }, options })
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Agent> {
    return pagesOf(this.#requester, AGENT_ENDPOINTS['agents.list'], { query, options })
  }

  /** Replaces the whole registration: absent members become empty. @throws ApiError not_found, validation_failed */
  async update(id: string, agent: AgentUpdate, options?: CallOptions): Promise<Agent> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.update'], { params: { id }, body: agent, options })
  }

  /** Ends the registration. @throws ApiError not_found, agent_suspended */
  async delete(id: string, options?: CallOptions): Promise<void> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.delete'], { params: { id }, options })
  }

  /** The kill switch, for any valid id, seen or not: once it resolves, every request of the agent is denied. */
  async suspend(id: string, options?: SuspendOptions): Promise<Agent> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.suspend'], {
      params: { id },
      body: { reason: options?.reason },
      options,
    })
  }

  /** Ends a suspension. */
  async resume(id: string, options?: IdempotentCallOptions): Promise<Agent> {
    return answerOf(this.#requester, AGENT_ENDPOINTS['agents.resume'], { params: { id }, body: {}, options })
  }
}

import { path } from '../call.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { Agent, AgentCreate, AgentUpdate } from '../wire.js'

/** For a suspension. */
export interface SuspendOptions extends IdempotentCallOptions {
  /** Up to 512 characters, kept with the agent and in the audit log. */
  readonly reason?: string | undefined
}

/** An agent needs no registration to ask. Source: docs/sdk.md "Methods". */
export class Agents {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Registers an agent, so that policies can compare its metadata. @throws ApiError validation_failed, agent_exists */
  async create(agent: AgentCreate, options?: IdempotentCallOptions): Promise<Agent> {
    return this.#post('/v1/agents', agent, options)
  }

  /** An agent that is registered, was seen or is suspended. @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Agent> {
    return (await this.#requester.send({ method: 'GET', path: path`/v1/agents/${id}`, options })) as Agent
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Agent> {
    return pagesOf(this.#requester, '/v1/agents', { ...query }, options)
  }

  /** Replaces the whole registration: what is absent is empty from then on. @throws ApiError not_found, validation_failed */
  async update(id: string, agent: AgentUpdate, options?: CallOptions): Promise<Agent> {
    return (await this.#requester.send({
      method: 'PUT',
      path: path`/v1/agents/${id}`,
      body: agent,
      options,
    })) as Agent
  }

  /** Ends the registration. @throws ApiError not_found, agent_suspended */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#requester.send({ method: 'DELETE', path: path`/v1/agents/${id}`, options })
  }

  /** The kill switch, for any valid id, seen or not: from the answer on every request of the agent is denied. */
  async suspend(id: string, options?: SuspendOptions): Promise<Agent> {
    return this.#post(path`/v1/agents/${id}/suspend`, { reason: options?.reason }, options)
  }

  /** Ends a suspension. */
  async resume(id: string, options?: IdempotentCallOptions): Promise<Agent> {
    return this.#post(path`/v1/agents/${id}/resume`, {}, options)
  }

  async #post(to: string, body: object, options: IdempotentCallOptions | undefined): Promise<Agent> {
    const idempotencyKey = options?.idempotencyKey ?? true
    return (await this.#requester.send({ method: 'POST', path: to, body, idempotencyKey, options })) as Agent
  }
}

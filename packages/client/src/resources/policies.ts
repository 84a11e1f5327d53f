import { path } from '../call.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { BudgetAccount, Policy, PolicyDocument, PolicyValidation } from '../wire.js'

/** For a change that must not undo a change it has not seen. */
export interface PolicyChangeOptions extends CallOptions {
  /** The `revision` that was read; when it is not the present one any more, 412 `revision_mismatch`. Default: any. */
  readonly ifRevision?: number | undefined
}

/** Source: docs/sdk.md "Policies". */
export class Policies {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Creates a policy, which decides from the next request on.
   *
   * @throws ApiError validation_failed (`errors` names each place), policy_name_taken, limit_reached
   */
  async create(document: PolicyDocument, options?: IdempotentCallOptions): Promise<Policy> {
    const idempotencyKey = options?.idempotencyKey ?? true
    return (await this.#requester.send({
      method: 'POST',
      path: '/v1/policies',
      body: document,
      idempotencyKey,
      options,
    })) as Policy
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Policy> {
    return (await this.#requester.send({ method: 'GET', path: path`/v1/policies/${id}`, options })) as Policy
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Policy> {
    return pagesOf(this.#requester, '/v1/policies', { ...query }, options)
  }

  /**
   * Replaces the whole policy. A policy that was read can be sent back: what the server adds is ignored.
   *
   * @throws ApiError not_found, validation_failed, policy_name_taken, revision_mismatch, limit_reached
   */
  async update(id: string, document: PolicyDocument, options?: PolicyChangeOptions): Promise<Policy> {
    return (await this.#requester.send({
      method: 'PUT',
      path: path`/v1/policies/${id}`,
      body: document,
      headers: ifMatch(options),
      options,
    })) as Policy
  }

  /** Ends a policy: it decides nothing from the next request on. @throws ApiError not_found, revision_mismatch */
  async delete(id: string, options?: PolicyChangeOptions): Promise<void> {
    const headers = ifMatch(options)
    await this.#requester.send({ method: 'DELETE', path: path`/v1/policies/${id}`, headers, options })
  }

  /** The policy as it was at each revision, newest first; of a deleted one too. To go back, `update` with an old one. */
  revisions(id: string, query: PageQuery = {}, options?: CallOptions): Pages<Policy> {
    return pagesOf(this.#requester, path`/v1/policies/${id}/revisions`, { ...query }, options)
  }

  /** Lists the faults of a policy and what is probably not meant. It stores nothing, and does not throw for a faulty policy. */
  async validate(document: object, options?: CallOptions): Promise<PolicyValidation> {
    return (await this.#requester.send({
      method: 'POST',
      path: '/v1/policies/validate',
      body: document,
      options,
    })) as PolicyValidation
  }

  /**
   * What the budget of a policy holds now: the present accounts, then older ones in which something is still reserved; none for
   * a policy without a budget. One account, unless the budget is of each agent.
   *
   * @throws ApiError not_found
   */
  budget(id: string, query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, path`/v1/policies/${id}/budget`, { ...query }, options)
  }

  /** The accounts of periods that are over, newest first. */
  budgetHistory(id: string, query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, path`/v1/policies/${id}/budget/history`, { ...query }, options)
  }
}

function ifMatch(options: PolicyChangeOptions | undefined): Record<string, string> | undefined {
  return options?.ifRevision === undefined ? undefined : { 'if-match': `"${options.ifRevision}"` }
}

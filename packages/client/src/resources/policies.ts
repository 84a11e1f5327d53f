import { isRecord } from '../answer.js'
import { path } from '../call.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { BudgetAccount, Policy, PolicyDocument, PolicyValidation } from '../wire.js'

/** For a change that must not overwrite a change it has not seen. */
export interface PolicyUpdateOptions extends CallOptions {
  /** The `revision` that was read; when it is not the present one any more, 412 `revision_mismatch`. Default: overwrite. */
  readonly ifRevision?: number | undefined
}

/** The budget accounts of one policy. */
export interface PolicyBudget {
  /** The present ones, then older ones in which something is still reserved; empty for a policy without a budget. */
  readonly data: readonly BudgetAccount[]
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
  async update(id: string, document: PolicyDocument, options?: PolicyUpdateOptions): Promise<Policy> {
    return (await this.#requester.send({
      method: 'PUT',
      path: path`/v1/policies/${id}`,
      body: document,
      headers: options?.ifRevision === undefined ? undefined : { 'if-match': `"${options.ifRevision}"` },
      options,
    })) as Policy
  }

  /** Ends a policy: it decides nothing from the next request on. @throws ApiError not_found */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#requester.send({ method: 'DELETE', path: path`/v1/policies/${id}`, options })
  }

  /** The policy as it was at each revision, newest first; of a deleted one too. To go back, `update` with an old one. */
  revisions(id: string, query: PageQuery = {}, options?: CallOptions): Pages<Policy> {
    return pagesOf(this.#requester, path`/v1/policies/${id}/revisions`, { ...query }, options)
  }

  /** Says what is wrong with a policy and what is likely not meant. Stores nothing; a faulty policy is no error here. */
  async validate(document: object, options?: CallOptions): Promise<PolicyValidation> {
    return (await this.#requester.send({
      method: 'POST',
      path: '/v1/policies/validate',
      body: document,
      options,
    })) as PolicyValidation
  }

  /** What the budget of a policy holds now. @throws ApiError not_found */
  async budget(id: string, options?: CallOptions): Promise<PolicyBudget> {
    const to = path`/v1/policies/${id}/budget`
    const answer = await this.#requester.send({ method: 'GET', path: to, options })
    if (isRecord(answer) && Array.isArray(answer.data)) return { data: answer.data }
    throw new UnavailableError('bad_answer', `GET ${to}: the answer is not a list of accounts`)
  }

  /** The accounts of periods that are over, newest first. */
  budgetHistory(id: string, query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, path`/v1/policies/${id}/budget/history`, { ...query }, options)
  }
}

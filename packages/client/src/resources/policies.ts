import { BUDGET_ENDPOINTS, POLICY_ENDPOINTS } from '../endpoints.js'
import { answerOf } from '../operation.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { BudgetAccount, Policy, PolicyDocument, PolicyValidation } from '../wire.js'

/** Options of a change that must not overwrite an unseen change. */
export interface PolicyChangeOptions extends CallOptions {
  /**
   * The `revision` that was read; if it is no longer the present one, the call fails with 412 `revision_mismatch`.
   * Default: any.
   */
  readonly ifRevision?: number | undefined
}

export interface PolicyPutOptions extends PolicyChangeOptions {
  /** Whether to leave an existing policy with this name unchanged: 412 `revision_mismatch`. Default: false. */
  readonly onlyCreate?: boolean | undefined
}

/** Source: docs/sdk-methods.md "Policies". */
export class Policies {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Creates a policy, which applies from the next request on.
   *
   * @throws ApiError validation_failed (`errors` names each place), policy_name_taken, limit_reached
   */
  async create(document: PolicyDocument, options?: IdempotentCallOptions): Promise<Policy> {
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.create'], { body: document, options })
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Policy> {
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.get'], { params: { id }, options })
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Policy> {
    return pagesOf(this.#requester, POLICY_ENDPOINTS['policies.list'], { query, options })
  }

  /**
   * Replaces a policy entirely. A policy that was read can be sent back: members that the server adds are ignored.
   *
   * @throws ApiError not_found, validation_failed, policy_name_taken, revision_mismatch, limit_reached
   */
  async update(id: string, document: PolicyDocument, options?: PolicyChangeOptions): Promise<Policy> {
    const headers = ifMatch(options)
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.replace'], {
      params: { id },
      body: document,
      headers,
      options,
    })
  }

  /** Returns the policy that has this name now. @throws ApiError not_found */
  async getByName(name: string, options?: CallOptions): Promise<Policy> {
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.getByName'], { params: { name }, options })
  }

  /**
   * Creates the policy with the name of the document, or replaces it entirely, so that a program that sets up its
   * policies can run again.
   *
   * @throws ApiError validation_failed, revision_mismatch, limit_reached
   */
  async putByName(document: PolicyDocument, options?: PolicyPutOptions): Promise<Policy> {
    const params = { name: document.name }
    const headers = { ...ifMatch(options), ...(options?.onlyCreate === true && { 'if-none-match': '*' }) }
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.putByName'], {
      params,
      body: document,
      headers,
      options,
    })
  }

  /** Deletes a policy: it decides nothing from the next request on. @throws ApiError not_found, revision_mismatch */
  async delete(id: string, options?: PolicyChangeOptions): Promise<void> {
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.delete'], {
      params: { id },
      headers: ifMatch(options),
      options,
    })
  }

  /** Lists the revisions of a policy, newest first, even of a deleted one. To restore one, `update` with it. */
  revisions(id: string, query: PageQuery = {}, options?: CallOptions): Pages<Policy> {
    return pagesOf(this.#requester, POLICY_ENDPOINTS['policies.revisions'], { params: { id }, query, options })
  }

  /**
   * Lists the faults of a policy and what is probably unintended. Stores nothing, and does not throw for a faulty
   * policy.
   */
  async validate(document: object, options?: CallOptions): Promise<PolicyValidation> {
    const body = document as Readonly<Record<string, unknown>>
    return answerOf(this.#requester, POLICY_ENDPOINTS['policies.validate'], { body, options })
  }

  /**
   * Lists the accounts of a policy's budget: the present ones, then older ones that still hold a reservation; none for
   * a policy without a budget. There is one present account, unless the scope of the budget is the agent.
   *
   * @throws ApiError not_found
   */
  budget(id: string, query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, BUDGET_ENDPOINTS['policies.budget'], { params: { id }, query, options })
  }

  /** Lists the accounts of past periods, newest first. */
  budgetHistory(id: string, query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, BUDGET_ENDPOINTS['policies.budget_history'], { params: { id }, query, options })
  }
}

function ifMatch(options: PolicyChangeOptions | undefined): Record<string, string> | undefined {
  return options?.ifRevision === undefined ? undefined : { 'if-match': `"${options.ifRevision}"` }
}

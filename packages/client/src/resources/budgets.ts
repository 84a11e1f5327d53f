import type { CallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { BudgetAccount } from '../wire.js'

/** Source: docs/sdk.md "Budgets". */
export class Budgets {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** The present account of every budget, and every other account in which something is still reserved. */
  list(query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, '/v1/budgets', { ...query }, options)
  }
}

import { BUDGET_ENDPOINTS } from '../endpoints.js'
import type { CallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { BudgetAccount } from '../wire.js'

/** Source: docs/sdk-methods.md "Budgets". */
export class Budgets {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Lists the present account of every budget, and every other account that still holds a reservation. */
  list(query: PageQuery = {}, options?: CallOptions): Pages<BudgetAccount> {
    return pagesOf(this.#requester, BUDGET_ENDPOINTS['budgets.list'], { query, options })
  }
}

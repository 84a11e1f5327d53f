import { listBudgetHistory } from '../../use-cases/budgets/history.js'
import { listBudgetOfPolicy, listBudgets, type ReadBudgetsDeps } from '../../use-cases/budgets/list.js'
import type { Cursors } from '../cursor.js'
import { replyPage } from '../pages.js'
import { routesOf } from '../route.js'

export function budgetRoutes(deps: ReadBudgetsDeps & { readonly cursors: Cursors }) {
  return routesOf({
    'budgets.list': {
      handle: (call) => replyPage(deps.cursors, call, (page) => listBudgets(deps, call.caller, page)),
    },
    'policies.budget': {
      handle: (call) =>
        replyPage(deps.cursors, call, (page) => listBudgetOfPolicy(deps, call.caller, call.params.id, page)),
    },
    'policies.budget_history': {
      handle: (call) =>
        replyPage(deps.cursors, call, (page) => listBudgetHistory(deps, call.caller, call.params.id, page)),
    },
  })
}

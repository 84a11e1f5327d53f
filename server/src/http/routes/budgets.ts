import { BudgetAccountSchema, pageOf } from '@countersign/contract'
import { z } from 'zod'
import { listBudgetHistory } from '../../use-cases/budgets/history.js'
import { listBudgetOfPolicy, listBudgets, type ReadBudgetsDeps } from '../../use-cases/budgets/list.js'
import type { Cursors } from '../cursor.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Route, route } from '../route.js'

export function budgetRoutes(deps: ReadBudgetsDeps & { readonly cursors: Cursors }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/budgets',
      name: 'budgets.list',
      isLong: true,
      summary: 'List the current account of every budget, then every past account that still has a reservation.',
      scopes: { all: ['budgets:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of accounts.', schema: pageOf(BudgetAccountSchema) },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => replyPage(deps.cursors, '/v1/budgets', call, (page) => listBudgets(deps, call.caller, page)),
    }),
    route({
      method: 'GET',
      path: '/v1/policies/{id}/budget',
      name: 'policies.budget',
      isLong: true,
      summary:
        'List the current accounts of one policy, then its past accounts that still have a reservation. Works for a deleted policy.',
      scopes: { all: ['budgets:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of accounts.', schema: pageOf(BudgetAccountSchema) },
      problems: ['invalid_cursor', 'not_found', 'store_unavailable'],
      handle: (call) =>
        replyPage(deps.cursors, '/v1/policies/{id}/budget', call, (page) =>
          listBudgetOfPolicy(deps, call.caller, call.params.id as string, page),
        ),
    }),
    route({
      method: 'GET',
      path: '/v1/policies/{id}/budget/history',
      name: 'policies.budget_history',
      isLong: true,
      summary: 'List the past accounts of one policy, newest first. Works for a deleted policy.',
      scopes: { all: ['budgets:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of accounts.', schema: pageOf(BudgetAccountSchema) },
      problems: ['invalid_cursor', 'not_found', 'store_unavailable'],
      handle: (call) =>
        replyPage(deps.cursors, '/v1/policies/{id}/budget/history', call, (page) =>
          listBudgetHistory(deps, call.caller, call.params.id as string, page),
        ),
    }),
  ]
}

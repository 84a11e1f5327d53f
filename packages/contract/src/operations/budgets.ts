import { BudgetAccountSchema } from '../account.js'
import { IdSchema } from '../id.js'
import { page } from './operation.js'

const scopes = { all: ['budgets:read'] } as const
const params = { id: IdSchema('pol') }
const accounts = [BudgetAccountSchema, 'A page of accounts.'] as const

export const BUDGET_OPERATIONS = {
  'budgets.list': page('/v1/budgets', accounts, {
    summary: 'List the current account of every budget, then every past account that still has a reservation.',
    scopes,
    problems: ['store_unavailable'],
  }),
  'policies.budget': page('/v1/policies/{id}/budget', accounts, {
    summary:
      'List the current accounts of one policy, then its past accounts that still have a reservation. Works for a deleted policy.',
    scopes,
    params,
    problems: ['not_found', 'store_unavailable'],
  }),
  'policies.budget_history': page('/v1/policies/{id}/budget/history', accounts, {
    summary: 'List the past accounts of one policy, newest first. Works for a deleted policy.',
    scopes,
    params,
    problems: ['not_found', 'store_unavailable'],
  }),
}

import type { Decision, DecisionDetail, DecisionExplanation, Page } from '@countersign/contract'
import { call } from './client'
import { once } from './once'

/** The parameters of the list. The URL of the page uses the same ones. */
export const DECISION_FILTERS = [
  'agent_id',
  'action',
  'resource',
  'effect',
  'status',
  'policy_id',
  'request_hash',
  'trace_id',
  'from',
  'to',
] as const
export type DecisionFilters = { readonly [Name in (typeof DECISION_FILTERS)[number]]?: string }

export function listDecisions(
  query: DecisionFilters & { readonly limit?: number; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<DecisionDetail>> {
  return call('decisions.list', { query, signal })
}

export const getDecision = (id: string): Promise<DecisionDetail> => call('decisions.get', { params: { id } })

export const explainDecision = (id: string): Promise<DecisionExplanation> =>
  call('decisions.explanation', { params: { id } })

/** @param key of all tries of this answer, as `once` takes it */
export const approve = (
  id: string,
  body: { comment?: string; exceed_budget?: boolean },
  key: string,
): Promise<Decision> => call('decisions.approve', { params: { id }, body, ...once(key) })

/** @param key of all tries of this answer, as `once` takes it */
export const decline = (id: string, body: { comment?: string }, key: string): Promise<Decision> =>
  call('decisions.decline', { params: { id }, body, ...once(key) })

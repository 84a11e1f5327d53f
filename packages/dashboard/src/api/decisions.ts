import type { DecisionDetail, DecisionExplanation, Page } from '@countersign/contract'
import { get, post } from './client'
import { once } from './once'

/** The parameters of the list, as they stand in the URL of the page too. */
export const DECISION_FILTERS = [
  'agent_id',
  'action',
  'resource',
  'effect',
  'status',
  'policy_id',
  'request_hash',
  'from',
  'to',
] as const
export type DecisionFilters = { readonly [Name in (typeof DECISION_FILTERS)[number]]?: string }

export function listDecisions(
  query: DecisionFilters & { readonly limit?: number; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<DecisionDetail>> {
  return get('/decisions', { query, ...(signal && { signal }) })
}

export const getDecision = (id: string): Promise<DecisionDetail> => get(`/decisions/${encodeURIComponent(id)}`)

export const explainDecision = (id: string): Promise<DecisionExplanation> =>
  get(`/decisions/${encodeURIComponent(id)}/explanation`)

/** @param key of all tries of this answer, as `once` takes it */
export const approve = (
  id: string,
  body: { comment?: string; exceed_budget?: boolean },
  key: string,
): Promise<DecisionDetail> => post(`/decisions/${encodeURIComponent(id)}/approve`, body, once(key))

/** @param key of all tries of this answer, as `once` takes it */
export const decline = (id: string, body: { comment?: string }, key: string): Promise<DecisionDetail> =>
  post(`/decisions/${encodeURIComponent(id)}/decline`, body, once(key))

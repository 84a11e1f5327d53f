import type {
  AuditEntry,
  Checkpoints,
  ConsistencyProof,
  DecisionProof,
  ErasedRequests,
  Page,
} from '@countersign/contract'
import { queryOptions } from '@tanstack/react-query'
import { call, get } from './client'

/** The parameters of the list, as they stand in the URL of the page too. */
const AUDIT_FILTERS = ['type', 'agent_id', 'decision_id'] as const
export type AuditFilters = { readonly [Name in (typeof AUDIT_FILTERS)[number]]?: string }

export function listAudit(
  query: AuditFilters & { readonly limit?: number; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<AuditEntry>> {
  return get('/audit', { query, ...(signal && { signal }) })
}

const MOST_OF_DECISION = 200

/** What the audit log says of a decision, the oldest first. Read anew with the decision. */
export const decisionAuditQuery = (id: string) =>
  queryOptions({
    queryKey: ['decision', id, 'audit'],
    queryFn: ({ signal }) => listAudit({ decision_id: id, limit: MOST_OF_DECISION }, signal),
    select: ({ data }) => data.toReversed(),
  })

/** The newest checkpoints. */
export const listCheckpoints = (): Promise<Checkpoints> => get('/audit/checkpoints')

export const proveDecision = (decision_id: string): Promise<DecisionProof> =>
  get('/audit/proof', { query: { decision_id } })

/** @param log null for the root log */
export const proveConsistency = (log: string | null, from: number): Promise<ConsistencyProof> =>
  get('/audit/consistency', { query: { from, ...(log !== null && { log }) } })

export const eraseRequest = (decisionId: string): Promise<void> =>
  call('DELETE', `/audit/requests/${encodeURIComponent(decisionId)}`)

export const eraseRequests = (agent_id: string): Promise<ErasedRequests> =>
  call('DELETE', '/audit/requests', { query: { agent_id } })

import type { AuditEntry, Page } from '@countersign/contract'
import { queryOptions } from '@tanstack/react-query'
import { get } from './client'

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

import type {
  AuditEntry,
  AuditRecord,
  Checkpoints,
  ConsistencyProof,
  DecisionProof,
  ErasedRequests,
  Page,
} from '@countersign/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from './client'
import { everyPage } from './every-page'

/** The parameters of the list. The URL of the page uses the same ones. */
export const AUDIT_FILTERS = ['type', 'agent_id', 'decision_id', 'from', 'to'] as const
export type AuditFilters = { readonly [Name in (typeof AUDIT_FILTERS)[number]]?: string }

export function listAudit(
  query: AuditFilters & { readonly subject?: string; readonly limit?: number; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<AuditEntry>> {
  return call('audit.list', { query, signal })
}

const MOST_OF_DECISION = 200

/** Reads the audit entries of a decision, oldest first. They are read again whenever the decision is. */
export const decisionAuditQuery = (id: string) =>
  queryOptions({
    queryKey: ['decision', id, 'audit'],
    queryFn: ({ signal }) => listAudit({ decision_id: id, limit: MOST_OF_DECISION }, signal),
    select: ({ data }) => data.toReversed(),
  })

export const listCheckpoints = (): Promise<Checkpoints> => call('audit.checkpoints', {})

/** Reads the stored record of a decision; null when there is none. */
export const readDecisionRecord = (id: string): Promise<AuditRecord | null> =>
  call('audit.records', { query: { kind: 'decision', id } }).then(({ data }) => data[0] ?? null)

const PAGE_SIZE = 200

/** Reads the stored record of every revision of a policy. */
export async function readPolicyRecords(id: string): Promise<readonly AuditRecord[]> {
  const read = (cursor: string | undefined) =>
    call('audit.records', { query: { kind: 'policy', id, limit: PAGE_SIZE, cursor } })
  return (await everyPage(read, Number.POSITIVE_INFINITY)).items
}

/** Reads the audit entries about a policy, in no particular order. */
export async function readPolicyEntries(id: string): Promise<readonly AuditEntry[]> {
  const read = (cursor: string | undefined) => listAudit({ subject: id, limit: PAGE_SIZE, cursor })
  return (await everyPage(read, Number.POSITIVE_INFINITY)).items
}

export const proveDecision = (decision_id: string): Promise<DecisionProof> =>
  call('audit.proof', { query: { decision_id } })

/** @param log null for the root log */
export const proveConsistency = (log: string | null, from: number): Promise<ConsistencyProof> =>
  call('audit.consistency', { query: { from, ...(log !== null && { log }) } })

export const eraseRequest = (decisionId: string): Promise<void> =>
  call('audit.eraseRequest', { params: { decision_id: decisionId } })

export const eraseRequests = (agent_id: string): Promise<ErasedRequests> =>
  call('audit.eraseRequests', { query: { agent_id } })

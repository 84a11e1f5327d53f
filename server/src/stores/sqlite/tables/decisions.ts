import { patternTest } from '@countersign/contract/pattern-match'
import type {
  ClosedDecision,
  ClosedFilter,
  DecisionFilter,
  DecisionWithRequest,
  OpenReview,
  OpenStatus,
  WaitingReviews,
} from '../../../ports/store/decisions.js'
import type { HeldRequest, Posting, StoredDecision } from '../../../ports/store/documents.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { leaveOut, ofSoundRows, openDocument } from '../../../ports/store/row-document.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { type Condition, equality, pageOf, type Scan } from '../scan-newest-first.js'
import { eraseResponses } from './deliveries.js'
import { documentReader } from './documents.js'
import { ERASED, noteErasure } from './held-requests.js'

/** The statuses that end at `expires_at`. */
const OPEN_STATUSES = "('authorized', 'awaiting_review', 'approved')"
/** The statuses that few decisions have at a time; the partial index has exactly this condition. */
const RARE_STATUSES = "status NOT IN ('authorized', 'denied', 'expired')"

/** The condition that a row of `decisions` is still open; `now` is the placeholder of the time in milliseconds. */
export const isOpenAt = (now: string) => `decisions.status IN ${OPEN_STATUSES} AND decisions.expires_ms > ${now}`

/** The members of a new decision that have columns; the context has one that may be erased. */
export function decisionColumns(decision: StoredDecision, { salt }: HeldRequest) {
  const { id, version, evaluated_at, status, expires_at, agent_id, action, resource, effect, policy_id, request_hash } =
    decision
  const { trace_id = null } = decision
  return [
    id,
    version,
    evaluated_at,
    status,
    expires_at,
    agent_id,
    action,
    resource,
    effect,
    policy_id,
    request_hash,
    salt,
    trace_id,
  ] as const
}
export type DecisionColumns = ReturnType<typeof decisionColumns>

export function sightingOf([, , evaluatedAt, , , agentId]: DecisionColumns) {
  return { agent_id: agentId, at: evaluatedAt }
}

/**
 * Returns false when a decision with the id exists.
 *
 * @param context empty for none
 */
export function insertDecision(db: Connection, columns: DecisionColumns, document: string, context: string): boolean {
  const [
    id,
    version,
    evaluatedAt,
    status,
    expiresAt,
    agentId,
    action,
    resource,
    effect,
    policyId,
    hash,
    salt,
    traceId,
  ] = columns
  const inserted = db.run(
    `INSERT INTO decisions (id, version, at_ms, status, expires_ms, agent_id, action, resource, effect, policy_id,
       request_hash, document, request_context, request_salt, trace_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    id,
    version,
    Date.parse(evaluatedAt),
    status,
    Date.parse(expiresAt),
    agentId,
    action,
    resource,
    effect,
    policyId,
    hash ?? ERASED,
    document,
    context === '' ? null : context,
    salt,
    traceId,
  )
  return inserted === 1
}

/** The changing members of a decision that have columns; the id and the present version come first. */
export function decisionUpdate({ id, version, status, expires_at }: StoredDecision, expectedVersion: number) {
  return [id, expectedVersion, version, status, expires_at] as const
}
export type DecisionUpdate = ReturnType<typeof decisionUpdate>

/**
 * Returns false when the decision is not at the expected version. The decided facts never change; only the changing
 * members are written.
 */
export function updateDecision(db: Connection, columns: DecisionUpdate, document: string): boolean {
  const [id, expectedVersion, version, status, expiresAt] = columns
  const updated = db.run(
    'UPDATE decisions SET version = ?, status = ?, expires_ms = ?, document = ? WHERE id = ? AND version = ?',
    version,
    status,
    Date.parse(expiresAt),
    document,
    id,
    expectedVersion,
  )
  return updated === 1
}

/** Returns the postings of the stored decision; none if there is no such decision. */
export function readPostings(db: Connection, id: string): readonly Posting[] {
  const row = db.get("SELECT document ->> '$.postings' AS postings FROM decisions WHERE id = ?", id)
  return row === undefined ? [] : JSON.parse(row.postings as string)
}

const READ = 'SELECT id, version, document, request_context, request_salt FROM decisions'

export function findDecision(db: Connection, id: string): DecisionWithRequest | null {
  const row = db.get(`${READ} WHERE id = ?`, id)
  return row === undefined ? null : decisionOf(row)
}

export function findDecisionStatus(db: Connection, id: string): Pick<StoredDecision, 'status' | 'expires_at'> | null {
  const row = db.get('SELECT status, expires_ms FROM decisions WHERE id = ?', id)
  if (row === undefined) return null
  return {
    status: row.status as StoredDecision['status'],
    expires_at: new Date(row.expires_ms as number).toISOString(),
  }
}

export function listDecisions(
  db: Connection,
  filter: DecisionFilter,
  page: PageRequest,
): Promise<Page<DecisionWithRequest>> {
  return pageOf(db, decisionScan(filter), page, {
    read: (seq) => db.get(`${READ} WHERE seq = ?`, seq),
    make: decisionOf,
  })
}

export function readAllDecisions(db: Connection, page: PageRequest): Promise<Page<DecisionWithRequest>> {
  return readInOrder(db, 'decisions', page, {
    read: (seq) => db.get(`${READ} WHERE seq = ?`, seq),
    make: decisionOf,
  })
}

/** The narrowest index first. */
function decisionScan(filter: DecisionFilter): Scan {
  const { agents } = filter
  return {
    table: 'decisions',
    by: 'time',
    index: 'decisions_by_time',
    conditions: [
      ...equality('request_hash', filter.request_hash, 'decisions_by_request_hash'),
      ...equality('trace_id', filter.trace_id, 'decisions_by_trace'),
      ...equality('resource', filter.resource, 'decisions_by_resource'),
      ...presentStatus(filter),
      ...equality('agent_id', filter.agent_id, 'decisions_by_agent'),
      ...equality('policy_id', filter.policy_id, 'decisions_by_policy'),
      ...equality('action', filter.action, 'decisions_by_action'),
      ...equality('effect', filter.effect, null),
    ],
    from: filter.from,
    to: filter.to,
    keep: agents === null ? undefined : { column: 'agent_id', test: patternTest(agents) },
  }
}

export function listOpenReviews(db: Connection, now: string): readonly OpenReview[] {
  const rows = db.all(
    `SELECT id, version, document ${OPEN_UNTIL.awaiting_review} AND expires_ms > ? ORDER BY expires_ms`,
    Date.parse(now),
  )
  return ofSoundRows(rows, documentOf, leaveOut).map(({ id, agent_id, key_id, expires_at }) => {
    return { id, agent_id, key_id, expires_at }
  })
}

export function measureReviews(db: Connection, now: string): WaitingReviews {
  const nowMs = Date.parse(now)
  const counted = db.get(`SELECT count(*) AS waiting ${OPEN_UNTIL.awaiting_review} AND expires_ms > ?`, nowMs)
  const oldest = db.get(
    `SELECT at_ms FROM decisions INDEXED BY ${BY_STATUS}
     WHERE ${RARE_STATUSES} AND status = 'awaiting_review' AND expires_ms > ? ORDER BY at_ms LIMIT 1`,
    nowMs,
  )
  return {
    waiting: counted?.waiting as number,
    oldest_at: oldest === undefined ? null : new Date(oldest.at_ms as number).toISOString(),
  }
}

/** Finds each open status by its end; each partial index has exactly this condition. */
const OPEN_UNTIL: Readonly<Record<OpenStatus, string>> = {
  authorized: "FROM decisions INDEXED BY decisions_authorized WHERE status = 'authorized'",
  awaiting_review: "FROM decisions INDEXED BY decisions_awaiting_review WHERE status = 'awaiting_review'",
  approved: "FROM decisions INDEXED BY decisions_approved WHERE status = 'approved'",
}

const OVERDUE_CURSOR = /^(-?\d+)\/(\d+)$/

export function listOverdue(
  db: Connection,
  status: OpenStatus,
  now: string,
  { limit, after }: PageRequest,
): Page<StoredDecision> {
  const [, ms = Number.MIN_SAFE_INTEGER, seq = 0] = OVERDUE_CURSOR.exec(after ?? '') ?? []
  const rows = db.all(
    `SELECT seq, id, version, status, expires_ms, document ${OPEN_UNTIL[status]}
     AND (expires_ms, seq) > (?, ?) AND expires_ms <= ? ORDER BY expires_ms, seq LIMIT ?`,
    Number(ms),
    Number(seq),
    Date.parse(now),
    limit + 1,
  )
  const found = rows.slice(0, limit)
  const last = found.at(-1)
  return {
    items: ofSoundRows(found, openOf, leaveOut),
    next: rows.length > limit ? `${last?.expires_ms}/${last?.seq}` : null,
  }
}

const CLOSED_CURSOR = /^(\d+)\/(.*)$/s

export function listClosed(
  db: Connection,
  { evaluated_before, ended_before }: ClosedFilter,
  { limit, after }: PageRequest,
): Page<ClosedDecision> {
  const [, ms = '-1', id = ''] = CLOSED_CURSOR.exec(after ?? '') ?? []
  const rows = db.all(
    `SELECT id, version, at_ms, document FROM decisions INDEXED BY decisions_by_time
     WHERE (at_ms, id) > (?, ?) AND at_ms < ? AND expires_ms < ? AND status NOT IN ${OPEN_STATUSES}
     ORDER BY at_ms, id LIMIT ?`,
    Number(ms),
    id,
    Date.parse(evaluated_before),
    Date.parse(ended_before),
    limit + 1,
  )
  const found = rows.slice(0, limit)
  const last = found.at(-1)
  return {
    items: ofSoundRows(found, documentOf, leaveOut),
    next: rows.length > limit ? `${last?.at_ms}/${last?.id}` : null,
  }
}

export function removeDecisions(
  db: Connection,
  decisions: readonly Pick<StoredDecision, 'id' | 'version'>[],
  now: string,
): number {
  const nowMs = Date.parse(now)
  return db.transaction(() => {
    const removed = decisions.filter(
      ({ id, version }) =>
        db.run(
          `DELETE FROM decisions WHERE id = ?1 AND version = ?2
           AND NOT EXISTS (SELECT 1 FROM idempotency WHERE subject = ?1 AND expires_ms > ?3)`,
          id,
          version,
          nowMs,
        ) === 1,
    )
    for (const { id } of removed) eraseResponses(db, id)
    if (removed.length > 0) noteErasure(db)
    return removed.length
  })
}

/** Derives the status from the written one and the time. */
function presentStatus({ status, now }: DecisionFilter): readonly Condition[] {
  const nowMs = Date.parse(now)
  switch (status) {
    case undefined:
      return []
    case 'expired':
      return [
        { sql: `(status = 'expired' OR status IN ${OPEN_STATUSES} AND expires_ms <= ?)`, values: [nowMs], index: null },
      ]
    case 'authorized':
      return [{ sql: "status = 'authorized' AND expires_ms > ?", values: [nowMs], index: null }]
    case 'denied':
      return equality('status', status, null)
    case 'awaiting_review':
    case 'approved':
      return [{ sql: `${RARE_STATUSES} AND status = ? AND expires_ms > ?`, values: [status, nowMs], index: BY_STATUS }]
    default:
      return [{ sql: `${RARE_STATUSES} AND status = ?`, values: [status], index: BY_STATUS }]
  }
}
const BY_STATUS = 'decisions_by_rare_status'

function decisionOf(row: Row): DecisionWithRequest {
  return {
    decision: documentOf(row),
    request: {
      context: row.request_context === null ? null : JSON.parse(row.request_context as string),
      salt: row.request_salt as string | null,
    },
  }
}

const documentOf = documentReader<StoredDecision>('decision')

function openOf(row: Row): StoredDecision {
  const { id, version, status, expires_ms } = row
  const own = { id: id as string, version: version as number, status: status as string }
  return openDocument({ ...own, expires_ms: expires_ms as number }, row.document as string)
}

import type { AuditEntry } from '@countersign/contract'
import type { AuditFilter, LogEnd, LogPosition } from '../../../ports/store/audit.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { PageRoom } from '../../../ports/store/page-room.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { bytesOf } from '../read-page.js'
import { equality, pageOf, type Scan } from '../scan-newest-first.js'

export function auditEntryColumns({ log, index, id, at, type, agent_id, subject }: AuditEntry) {
  return [log, index, id, at, type, agent_id, subject] as const
}
export type AuditEntryColumns = ReturnType<typeof auditEntryColumns>

/** Returns false when the log has an entry at the index. */
export function insertAuditEntry(db: Connection, columns: AuditEntryColumns, document: string): boolean {
  const [log, index, id, at, type, agentId, subject] = columns
  const inserted = db.run(
    `INSERT INTO audit_entries (log, log_index, id, at_ms, type, agent_id, subject, document)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (log, log_index) DO NOTHING`,
    log,
    index,
    id,
    Date.parse(at),
    type,
    agentId,
    subject,
    document,
  )
  return inserted === 1
}

/** Whether exactly this entry is in the log. */
export function hasAuditEntry(db: Connection, { log, index, id }: AuditEntry): boolean {
  return db.get('SELECT 1 FROM audit_entries WHERE log = ? AND log_index = ? AND id = ?', log, index, id) !== undefined
}

export function hasPosition(db: Connection, { log, index }: LogPosition): boolean {
  return db.get('SELECT 1 FROM audit_entries WHERE log = ? AND log_index = ?', log, index) !== undefined
}

/** Reads index by index, so that it holds no more rows than the answer has. */
export function readLog(
  db: Connection,
  log: string,
  fromIndex: number,
  limit: number,
  maxBytes = Number.POSITIVE_INFINITY,
): readonly AuditEntry[] {
  const room = new PageRoom({ limit, maxBytes })
  const entries: AuditEntry[] = []
  while (entries.length < limit) {
    const index = fromIndex + entries.length
    const row = db.get('SELECT document FROM audit_entries WHERE log = ? AND log_index = ?', log, index)
    if (row === undefined || !room.takes(bytesOf(row))) break
    entries.push(entryOf(row))
  }
  return entries
}

export function nextLogIndex(db: Connection, log: string): number {
  const last = db.get('SELECT max(log_index) AS last FROM audit_entries WHERE log = ?', log)?.last as number | null
  return last === null ? 0 : last + 1
}

/** Jumps from the first position of each log to that of the next, without visiting the entries between them. */
export function listLogs(db: Connection): readonly LogEnd[] {
  const ends: LogEnd[] = []
  for (let last = ''; ; ) {
    const row = db.get('SELECT log FROM audit_entries WHERE log > ? ORDER BY log LIMIT 1', last)
    if (row === undefined) return ends
    last = row.log as string
    ends.push({ log: last, next_index: nextLogIndex(db, last) })
  }
}

export function listAuditEntries(db: Connection, filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>> {
  return pageOf(db, auditScan(filter), page, {
    read: (seq) => db.get('SELECT document FROM audit_entries WHERE seq = ?', seq),
    make: entryOf,
  })
}

export function readAllEntries(db: Connection, page: PageRequest): Promise<Page<AuditEntry>> {
  return readInOrder(db, 'audit_entries', page, {
    read: (seq) => db.get('SELECT document FROM audit_entries WHERE seq = ?', seq),
    make: entryOf,
  })
}

/** The narrowest index first. */
function auditScan(filter: AuditFilter): Scan {
  return {
    table: 'audit_entries',
    by: 'time',
    index: 'audit_entries_by_time',
    conditions: [
      ...equality('subject', filter.subject, 'audit_entries_by_subject'),
      ...equality('agent_id', filter.agent_id, 'audit_entries_by_agent'),
      ...equality('type', filter.type, 'audit_entries_by_type'),
    ],
    from: filter.from,
    to: filter.to,
  }
}

function entryOf(row: Row): AuditEntry {
  return JSON.parse(row.document as string)
}

import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import type { AuditFilter, LogPosition } from '../../../ports/store/audit.js'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { PageRoom } from '../../../ports/store/page-room.js'
import { type Database, READ_LIMIT_MS } from '../connection/database.js'
import type { AuditDocument, EntryPosition, Intent, LastRecord } from '../stored.js'
import { bytesOf, equality, pageOf, rowsAtOnce } from './pages.js'

export function auditId({ log, index }: { readonly log: string; readonly index: number }): string {
  return `${log}/${index}`
}

export async function hasEntry(database: Database, position: LogPosition): Promise<boolean> {
  const found = await database.call(() => database.audit.findOne({ _id: { $eq: auditId(position) } }))
  return found !== null
}

/** Reads by id, not by a range of indexes, because an entry may exist before the one preceding it. */
export async function readLog(
  database: Database,
  log: string,
  fromIndex: number,
  limit: number,
  maxBytes?: number,
): Promise<readonly AuditEntry[]> {
  const page = { limit, ...(maxBytes !== undefined && { maxBytes }) }
  const room = new PageRoom(page)
  const entries: AuditEntry[] = []
  while (entries.length < limit) {
    const ids = [...Array(Math.min(limit - entries.length, rowsAtOnce(page))).keys()].map((i) =>
      auditId({ log, index: fromIndex + entries.length + i }),
    )
    const found = await database.lists.run(() =>
      database.call(() =>
        database.audit
          .find({ _id: { $in: ids } })
          .maxTimeMS(READ_LIMIT_MS)
          .toArray(),
      ),
    )
    const byId = new Map(found.map((document) => [document._id, document]))
    for (const id of ids) {
      const document = byId.get(id)
      if (document === undefined || !room.takes(bytesOf(document))) return entries
      entries.push(JSON.parse(document.document) as AuditEntry)
    }
  }
  return entries
}

/** Writes entries of logs that nothing else writes. */
export async function insertEntries(database: Database, entries: readonly AuditEntry[]): Promise<void> {
  await database.insertNew(database.audit, entries.map(auditDocumentOf))
}

/** Finds the entries at these positions, by their ids. */
export async function findEntries(
  database: Database,
  positions: readonly LogPosition[],
): Promise<ReadonlyMap<string, AuditEntry>> {
  const found = await database.findByIds(database.audit, positions.map(auditId), ['document'])
  return new Map([...found].map(([id, { document }]) => [id, JSON.parse(document)]))
}

/** Whether a record, such as the last one of a primary, has exactly this entry. */
export function isSameEntry(found: EntryPosition | null, { log, index, entry_id }: EntryPosition): boolean {
  return found !== null && found.log === log && found.index === index && found.entry_id === entry_id
}

export function auditDocumentOf(entry: AuditEntry): AuditDocument {
  const { id, at, type, agent_id, subject, log, index } = entry
  return {
    _id: auditId(entry),
    id,
    at_ms: Date.parse(at),
    type,
    agent_id,
    subject,
    log,
    index,
    document: JSON.stringify(entry),
  }
}

/** The entry at the index of a record that was never committed. */
export function voidEntry({ log, index, entry_id, at }: Pick<Intent, keyof EntryPosition | 'at'>): AuditEntry {
  const unhashed = {
    id: entry_id,
    log,
    index,
    at,
    type: 'void',
    actor: null,
    subject: entry_id,
    agent_id: null,
    trace_id: null,
    data: {},
  } as const
  return { ...unhashed, leaf: leafHash(unhashed) }
}

/** Writes the entries of committed records to the log. An existing entry stays as it is. */
export async function copyToLog(database: Database, records: readonly (LastRecord | null)[]): Promise<void> {
  const entries = records.flatMap((record) => (record === null ? [] : [JSON.parse(record.entry) as AuditEntry]))
  await database.insertNew(database.audit, entries.map(auditDocumentOf))
}

/**
 * Writes entries to the log; others may have written them already.
 *
 * @throws StoreUnavailableError when another entry has one of the indexes: no answer is allowed then
 */
export async function writeEntries(database: Database, entries: readonly AuditEntry[]): Promise<void> {
  const there = await database.insertNew(database.audit, entries.map(auditDocumentOf))
  if (there.size === 0) return
  const byId = new Map([...there].map((i) => [auditId(entries[i] as AuditEntry), entries[i] as AuditEntry]))
  const found = await database.findByIds(database.audit, [...byId.keys()], ['id', 'type'])
  for (const { _id, id, type } of found.values()) {
    const own = byId.get(_id)
    if (own?.id !== id || own.type !== type)
      throw new StoreUnavailableError(`Another entry is at ${_id} in the audit log.`)
  }
}

export function listAuditEntries(
  database: Database,
  filter: AuditFilter,
  page: PageRequest,
): Promise<Page<AuditEntry>> {
  return pageOf(
    database,
    {
      collection: database.audit,
      conditions: [
        ...equality('subject', filter.subject),
        ...equality('agent_id', filter.agent_id),
        ...equality('type', filter.type),
      ],
      by: ['at_ms', 'id'],
      from: filter.from,
      to: filter.to,
    },
    ({ document }) => JSON.parse(document) as AuditEntry,
    page,
  )
}

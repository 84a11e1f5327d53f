import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import type { AuditFilter, Page, PageRequest } from '../../ports/store.js'
import type { Database } from './database.js'
import { equality, pageOf } from './pages.js'
import type { AuditDocument, Intent, LastRecord, Place } from './stored.js'

export function auditId({ log, index }: { readonly log: string; readonly index: number }): string {
  return `${log}/${index}`
}

/** Whether the last record of a home is the one of that place. */
export function isPlace(last: LastRecord | null, { log, index, entry_id }: Place): boolean {
  return last !== null && last.log === log && last.index === index && last.entry_id === entry_id
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

/** What fills the place of a record that never became durable. */
export function voidEntry({ log, index, entry_id, at }: Pick<Intent, keyof Place | 'at'>): AuditEntry {
  const unhashed = {
    id: entry_id,
    log,
    index,
    at,
    type: 'void',
    actor: null,
    subject: entry_id,
    agent_id: null,
    data: {},
  } as const
  return { ...unhashed, leaf: leafHash(unhashed) }
}

/** Puts the entries of records that stand into the log. One that is there already stays. */
export async function copyToLog(database: Database, records: readonly (LastRecord | null)[]): Promise<void> {
  const entries = records.flatMap((record) => (record === null ? [] : [JSON.parse(record.entry) as AuditEntry]))
  await database.insertNew(database.audit, entries.map(auditDocumentOf))
}

export async function listAuditEntries(
  database: Database,
  filter: AuditFilter,
  page: PageRequest,
): Promise<Page<AuditEntry>> {
  const { items, next } = await pageOf(
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
    page,
  )
  return { items: items.map(({ document }) => JSON.parse(document) as AuditEntry), next }
}

import { setTimeout as pause } from 'node:timers/promises'
import {
  type AuditEntry,
  AuditEntrySchema,
  type AuditRecord,
  AuditRecordSchema,
  CheckpointsSchema,
  LIMITS,
  pageOf,
} from '@countersign/contract'
import type { ZodType } from 'zod'
import { type ServerAccess, serverAccess } from '../../server-access.js'
import { serverSource } from '../audit-source.js'
import { askServer } from '../call-server.js'
import type { LogSizes, RecordSource } from './record-source.js'

const LOOK_EVERY_MS = 200
/** A server makes a checkpoint about once a second. */
const CHECKPOINT_WITHIN_MS = 5_000

const EntriesSchema = pageOf(AuditEntrySchema)
const RecordsSchema = pageOf(AuditRecordSchema)

/** Reads from a running server. */
export function serverRecords(url: string | undefined): RecordSource {
  const scopes = 'audit:read, decisions:read, policies:read, agents:read, keys:read, webhooks:read and budgets:read'
  const access = serverAccess(url, scopes)
  return {
    isLive: true,
    sizes: () => coveredSizes(access),
    records: (kind) => recordsOf(access, `kind=${kind}&limit=${LIMITS.pageSize}`),
    recordsOf: (kind, id) => recordsOf(access, `kind=${kind}&id=${encodeURIComponent(id)}`),
    exportLines: serverSource(url).exportLines,
    uncovered: (covered) => uncoveredEntries(access, covered),
    entriesOf: (id) => entriesOf(access, `&subject=${encodeURIComponent(id)}`),
  }
}

/** Newest first, up to a page that contains only covered entries. */
async function* uncoveredEntries(access: ServerAccess, covered: LogSizes): AsyncGenerator<AuditEntry> {
  for await (const page of entryPages(access, '')) {
    const found = page.filter(({ log, index }) => index >= (covered.get(log) ?? 0))
    yield* found
    if (found.length === 0) return
  }
}

async function* entriesOf(access: ServerAccess, query: string): AsyncGenerator<AuditEntry> {
  for await (const page of entryPages(access, query)) yield* page
}

function entryPages(access: ServerAccess, query: string): AsyncGenerator<readonly AuditEntry[]> {
  return pagesOf(access, `/v1/audit?limit=${LIMITS.pageSize}${query}`, EntriesSchema)
}

/** Returns the sizes of the newest checkpoints, once they cover the newest entry. Later entries count as later. */
async function coveredSizes(access: ServerAccess): Promise<LogSizes> {
  const newest = (await askServer(access, '/v1/audit?limit=1', EntriesSchema)).data[0]
  for (const untilMs = performance.now() + CHECKPOINT_WITHIN_MS; ; await pause(LOOK_EVERY_MS)) {
    const { data } = await askServer(access, '/v1/audit/checkpoints', CheckpointsSchema)
    const sizes = new Map(data.map(({ log, size }) => [log, size]))
    const isCovered = newest === undefined || newest.index < (sizes.get(newest.log) ?? 0)
    if (isCovered || performance.now() > untilMs) return sizes
  }
}

async function* recordsOf(access: ServerAccess, query: string): AsyncGenerator<AuditRecord> {
  for await (const page of pagesOf(access, `/v1/audit/records?${query}`, RecordsSchema)) yield* page
}

async function* pagesOf<T>(
  access: ServerAccess,
  path: string,
  schema: ZodType<{ readonly data: readonly T[]; readonly next_cursor: string | null }>,
): AsyncGenerator<readonly T[]> {
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = await askServer(access, `${path}${cursor}`, schema)
    yield data
    if (next_cursor === null) return
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`
  }
}

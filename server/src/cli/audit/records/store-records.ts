/** Reads the data of a server without the server: a data directory, MongoDB, or a backup of the embedded store. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { AuditRecord, AuditRecordKind } from '@countersign/contract'
import type { Config } from '../../../config.js'
import type { Page } from '../../../ports/store/page.js'
import type { Store } from '../../../ports/store/store.js'
import { restoreStore } from '../../../stores/sqlite/restore.js'
import { type AuditExport, coveredSizes } from '../../../use-cases/audit/export.js'
import { listRecords } from '../../../use-cases/audit/records.js'
import { serverData } from '../../server-data.js'
import { type OpenedStore, readStore } from '../../with-store.js'
import { exportOfData, exportWithoutServer } from '../audit-source.js'
import type { LogSizes, RecordSource } from './record-source.js'

type StoreOf = Pick<Config, 'dataDir' | 'mongodbUrl'>

const PAGE = 200
const PAGE_BYTES = 1024 * 1024

/**
 * Uses the data that `DATA_DIR` or `MONGODB_URL` name.
 *
 * @throws CommandError while an embedded server runs
 */
export async function withStoreRecords<T>(work: (source: RecordSource) => Promise<T>): Promise<T> {
  const config = serverData()
  return onStore(config, work, (opened) => exportOfData(config.dataDir, opened))
}

/** Uses a copy of a backup, which stays unchanged. */
export async function withBackupRecords<T>(file: string, work: (source: RecordSource) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-backup-'))
  try {
    const dataDir = join(folder, 'data')
    await restoreStore(resolve(file), dataDir)
    // A backup does not contain what its server had signed.
    return await onStore({ dataDir, mongodbUrl: null }, work, ({ store }) => exportWithoutServer(store))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function onStore<T>(
  data: StoreOf,
  work: (source: RecordSource) => Promise<T>,
  exported: (opened: OpenedStore) => Promise<AuditExport>,
): Promise<T> {
  const isLive = data.mongodbUrl !== null
  return readStore(data, 'Omit --offline to ask it, or stop it.', (opened) =>
    work(sourceOf(opened, isLive, async () => (await exported(opened)).pieces)),
  )
}

function sourceOf(
  { store, clock }: OpenedStore,
  isLive: boolean,
  exportLines: RecordSource['exportLines'],
): RecordSource {
  const now = () => clock.now().toISOString()
  return {
    isLive,
    sizes: () => sizesIn(store),
    records: (kind) => recordsIn(store, kind, null, now),
    recordsOf: (kind, id) => recordsIn(store, kind, id, now),
    exportLines,
    async *uncovered(covered) {
      for (const log of (await sizesIn(store)).keys())
        for (let from = covered.get(log) ?? 0; ; ) {
          const entries = await store.audit.read(log, from, PAGE, PAGE_BYTES)
          if (entries.length === 0) break
          yield* entries
          from += entries.length
        }
    },
    entriesOf: (id) => eachOf((after) => store.audit.list({ subject: id }, { limit: PAGE, after })),
  }
}

/**
 * On MongoDB a document says where a log ends, and it may have been edited: no log ends before what its checkpoint
 * covers.
 */
async function sizesIn(store: Store): Promise<LogSizes> {
  const sizes = new Map(await coveredSizes(store))
  for (const { log, next_index } of await store.audit.listLogs())
    sizes.set(log, Math.max(next_index, sizes.get(log) ?? 0))
  return sizes
}

function recordsIn(
  store: Store,
  kind: AuditRecordKind,
  id: string | null,
  now: () => string,
): AsyncGenerator<AuditRecord> {
  return eachOf((after) => listRecords({ store }, kind, id, { limit: PAGE, maxBytes: PAGE_BYTES, after }, now()))
}

async function* eachOf<T>(pageAfter: (after: string | null) => Promise<Page<T>>): AsyncGenerator<T> {
  for (let after: string | null = null; ; ) {
    const { items, next }: Page<T> = await pageAfter(after)
    yield* items
    if (next === null) return
    after = next
  }
}

/** All records of the store, as they move to another one. */
import type { LogEnd } from '../../ports/store/audit.js'
import type { MovedKind, MovedRecords } from '../../ports/store/move.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Connection } from './driver.js'
import { readAllAccounts } from './tables/accounts.js'
import { readAllAgents, readAllRegistrations } from './tables/agents.js'
import { nextLogIndex, readAllEntries } from './tables/audit-entries.js'
import { readAllCounts } from './tables/counts.js'
import { readAllDecisions } from './tables/decisions.js'
import { readAllDeliveries } from './tables/deliveries.js'
import { readAllIdempotency } from './tables/idempotency.js'
import { loadKeys, loadKeyUses } from './tables/keys.js'
import { findLog, listSecrets } from './tables/meta.js'
import { readAllRevisions } from './tables/policies.js'
import { readAllReaders } from './tables/readers.js'
import { readAllCheckpoints, readAllNodes } from './tables/trees.js'
import { loadWebhooks } from './tables/webhooks.js'

type ReadersOfKinds = {
  readonly [Kind in MovedKind]: (
    db: Connection,
    page: PageRequest,
  ) => Page<MovedRecords[Kind]> | Promise<Page<MovedRecords[Kind]>>
}

/** Few records are one page, whatever is asked for. */
const onePage = <Item>(items: readonly Item[]): Page<Item> => ({ items, next: null })

export const READ_ALL = {
  secrets: (db: Connection) => onePage(listSecrets(db)),
  policies: readAllRevisions,
  agents: readAllAgents,
  registrations: readAllRegistrations,
  keys: (db: Connection) => onePage(loadKeys(db)),
  key_uses: (db: Connection) => onePage([...loadKeyUses(db)].map(([key_id, used_at]) => ({ key_id, used_at }))),
  webhooks: (db: Connection) => onePage(loadWebhooks(db)),
  audit_entries: readAllEntries,
  decisions: readAllDecisions,
  accounts: readAllAccounts,
  idempotency_keys: readAllIdempotency,
  deliveries: readAllDeliveries,
  counts: readAllCounts,
  tree_nodes: readAllNodes,
  checkpoints: readAllCheckpoints,
  readers: (db: Connection) => onePage(readAllReaders(db)),
} satisfies ReadersOfKinds

/** The tables, where they have another name than the kind; secrets are a part of one. */
const TABLES: Partial<Record<MovedKind, string>> = {
  registrations: 'agent_revisions',
  idempotency_keys: 'idempotency',
  checkpoints: 'log_checkpoints',
}

export function countRecords(db: Connection, kind: MovedKind): number {
  if (kind === 'secrets') return listSecrets(db).length
  if (kind === 'readers') return readAllReaders(db).length
  return db.get(`SELECT count(*) AS count FROM ${TABLES[kind] ?? kind}`)?.count as number
}

export function findLogEnd(db: Connection): LogEnd | null {
  const log = findLog(db)
  return log === null ? null : { log, next_index: nextLogIndex(db, log) }
}

/** How each kind of record is written by a move, found again and counted. Only the files of the collections know the documents. */
import type { MovedKind, MovedRecords } from '../../ports/store/move.js'
import { findAccountsInOrder, insertAccounts } from './budgets/accounts.js'
import { findAgents, findRegistrations, insertAgents, keepRegistrations } from './collections/agents.js'
import { auditId, findEntries, insertEntries } from './collections/audit.js'
import { findDecisions, insertSettledDecisions } from './collections/decisions.js'
import { insertKeys, loadKeys, loadKeyUses, saveKeyUses } from './collections/keys.js'
import { findRevisions, insertRevisions } from './collections/policies.js'
import { insertWebhooks, loadWebhooks } from './collections/webhooks.js'
import type { Database } from './connection/database.js'
import { findCounts, orderOf, writeCounts } from './feed/counts.js'
import { addDeliveries, findDeliveries } from './feed/deliveries.js'
import { findSavedReaders, insertSavedReaders } from './feed/readers.js'
import { addTrees, findCheckpoints, findNodesOfTrees } from './feed/trees.js'
import { findClaimed, insertClaimed } from './records/claims.js'

interface KindOnMongodb<Record> {
  /** An existing record stays as it is. */
  write(database: Database, records: readonly Record[]): Promise<void>
  find(database: Database, records: readonly Record[]): Promise<readonly (Record | null)[]>
  count(database: Database): Promise<number>
}

type CollectionName = {
  [Name in keyof Database]: Database[Name] extends { countDocuments(): unknown } ? Name : never
}[keyof Database]

const countIn =
  (name: CollectionName) =>
  (database: Database): Promise<number> =>
    database.call(() => (database[name] as Database['audit']).countDocuments({}))

/** Finds the records of a kind whose documents are read together. */
const among =
  <Record>(load: (database: Database) => Promise<readonly Record[]>, nameOf: (record: Record) => string) =>
  async (database: Database, records: readonly Record[]): Promise<readonly (Record | null)[]> => {
    const byName = new Map((await load(database)).map((record) => [nameOf(record), record]))
    return records.map((record) => byName.get(nameOf(record)) ?? null)
  }

const idOf = ({ id }: { readonly id: string }) => id

async function loadUses(database: Database): Promise<readonly MovedRecords['key_uses'][]> {
  return [...(await loadKeyUses(database))].map(([key_id, used_at]) => ({ key_id, used_at }))
}

async function loadSecrets(database: Database): Promise<readonly MovedRecords['secrets'][]> {
  const found = await database.call(() => database.secrets.find().toArray())
  return found.map(({ _id, value }) => ({ name: _id, value }))
}

/** A save of a reader replaces counts of a lower order. */
const FIRST_ORDER = orderOf(0, 0)

export const KINDS: { readonly [Kind in MovedKind]: KindOnMongodb<MovedRecords[Kind]> } = {
  secrets: {
    async write(database, secrets) {
      await database.insertNew(
        database.secrets,
        secrets.map(({ name, value }) => ({ _id: name, value })),
      )
    },
    find: among(loadSecrets, ({ name }) => name),
    count: async (database) => (await loadSecrets(database)).length,
  },
  policies: { write: insertRevisions, find: findRevisions, count: countIn('policies') },
  agents: { write: insertAgents, find: findAgents, count: countIn('agents') },
  registrations: { write: keepRegistrations, find: findRegistrations, count: countIn('agentRevisions') },
  keys: {
    write: insertKeys,
    find: among(loadKeys, idOf),
    count: async (database) => (await loadKeys(database)).length,
  },
  key_uses: {
    write: (database, uses) => saveKeyUses(database, new Map(uses.map(({ key_id, used_at }) => [key_id, used_at]))),
    find: among(loadUses, ({ key_id }) => key_id),
    count: countIn('keyUses'),
  },
  webhooks: {
    write: insertWebhooks,
    find: among(loadWebhooks, idOf),
    count: async (database) => (await loadWebhooks(database)).length,
  },
  audit_entries: {
    write: insertEntries,
    find: async (database, entries) => {
      const byId = await findEntries(database, entries)
      return entries.map((entry) => byId.get(auditId(entry)) ?? null)
    },
    count: countIn('audit'),
  },
  decisions: { write: insertSettledDecisions, find: findDecisions, count: countIn('decisions') },
  accounts: { write: insertAccounts, find: findAccountsInOrder, count: countIn('accounts') },
  idempotency_keys: { write: insertClaimed, find: findClaimed, count: countIn('claims') },
  deliveries: { write: addDeliveries, find: findDeliveries, count: countIn('deliveries') },
  counts: {
    write: (database, counts) => writeCounts(database, counts, FIRST_ORDER),
    find: findCounts,
    count: countIn('counts'),
  },
  tree_nodes: {
    write: (database, nodes) => addTrees(database, { nodes, checkpoints: [] }),
    find: findNodesOfTrees,
    count: countIn('treeNodes'),
  },
  checkpoints: {
    write: (database, checkpoints) => addTrees(database, { nodes: [], checkpoints }),
    find: findCheckpoints,
    count: countIn('checkpoints'),
  },
  readers: { write: insertSavedReaders, find: findSavedReaders, count: countIn('readers') },
}

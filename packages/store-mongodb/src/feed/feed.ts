import type { AccountKey } from '@countersign/contract'
import type { StoredDelivery } from '@countersign/store-port/documents'
import type {
  CountFilter,
  DeliveryFilter,
  FeedBatch,
  FeedReads,
  FeedWrites,
  NodePlace,
} from '@countersign/store-port/feed'
import type { PageRequest } from '@countersign/store-port/store'
import { readAccounts } from '../budgets/accounts.js'
import { findAgent } from '../collections/agents.js'
import { readLog } from '../collections/audit.js'
import { findDecision } from '../collections/decisions.js'
import { loadKeys } from '../collections/keys.js'
import { findPolicyRevision, listPolicyRevisions } from '../collections/policies.js'
import { loadWebhooks } from '../collections/webhooks.js'
import type { Database } from '../connection/database.js'
import { listCounts, removeCounts } from './counts.js'
import {
  addDeliveries,
  findDelivery,
  listDeliveries,
  listDue,
  pendingOf,
  removeDeliveries,
  updateDeliveries,
} from './deliveries.js'
import { LogEnds } from './log-ends.js'
import { Readers } from './readers.js'
import { findNodes, listCheckpoints } from './trees.js'

/** What the feed keeps. docs/storage.md says how. */
export class MongoFeed implements FeedReads, FeedWrites {
  readonly #logEnds: LogEnds
  readonly #readers: Readers

  /** @param nowMs the time that leases are measured by */
  constructor(
    protected readonly database: Database,
    nowMs: () => number,
  ) {
    this.#logEnds = new LogEnds(database)
    this.#readers = new Readers(database, nowMs)
  }

  readLog(log: string, fromIndex: number, limit: number, maxBytes?: number) {
    return readLog(this.database, log, fromIndex, { limit, ...(maxBytes !== undefined && { maxBytes }) })
  }
  listLogs() {
    return this.#logEnds.list()
  }

  findDecision(id: string) {
    return findDecision(this.database, id)
  }
  findAgent(id: string) {
    return findAgent(this.database, id)
  }
  findPolicyRevision(id: string, revision: number) {
    return findPolicyRevision(this.database, id, revision)
  }
  listPolicyRevisions(id: string, page: PageRequest) {
    return listPolicyRevisions(this.database, id, page)
  }
  loadKeys() {
    return loadKeys(this.database)
  }
  loadWebhooks() {
    return loadWebhooks(this.database)
  }
  async readAccounts(keys: readonly AccountKey[]) {
    return readAccounts(this.database, keys)
  }

  holdReader(name: string, holder: string, forMs: number) {
    return this.#readers.hold({ name, holder, forMs })
  }
  releaseReaders(holder: string) {
    return this.#readers.release(holder)
  }
  listReaders(prefix: string) {
    return this.#readers.list(prefix)
  }
  findReader(name: string) {
    return this.#readers.find(name)
  }
  removeReader(name: string) {
    return this.#readers.remove(name)
  }

  /** The deliveries first: whoever finds the positions finds them, too. */
  async save(batch: FeedBatch): Promise<boolean> {
    await addDeliveries(this.database, batch.deliveries)
    return this.#readers.save(batch)
  }

  addDelivery(delivery: StoredDelivery) {
    return addDeliveries(this.database, [delivery])
  }
  updateDeliveries(deliveries: readonly StoredDelivery[]) {
    return updateDeliveries(this.database, deliveries)
  }
  findDelivery(id: string) {
    return findDelivery(this.database, id)
  }
  listDeliveries(filter: DeliveryFilter, page: PageRequest) {
    return listDeliveries(this.database, filter, page)
  }
  listDue(webhookId: string, now: string, limit: number) {
    return listDue(this.database, webhookId, now, limit)
  }
  pendingOf(webhookId: string) {
    return pendingOf(this.database, webhookId)
  }
  removeDeliveries(webhookId: string, before: string | null) {
    return removeDeliveries(this.database, webhookId, before)
  }

  listCounts(filter: CountFilter, limit: number) {
    return listCounts(this.database, filter, limit)
  }
  removeCounts(series: string, beforeMs: number) {
    return removeCounts(this.database, series, beforeMs)
  }

  findNodes(tree: string, places: readonly NodePlace[]) {
    return findNodes(this.database, tree, places)
  }
  listCheckpoints(fromIndex: number, limit: number) {
    return listCheckpoints(this.database, fromIndex, limit)
  }
}

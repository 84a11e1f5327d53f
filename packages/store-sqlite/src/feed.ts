import type { AccountKey } from '@countersign/contract'
import type { StoredDelivery } from '@countersign/store-port/documents'
import type {
  CountFilter,
  DeliveryFilter,
  FeedBatch,
  FeedReads,
  FeedWrites,
  HeldReader,
  NodePlace,
} from '@countersign/store-port/feed'
import { type PageRequest, StoreUnavailableError } from '@countersign/store-port/store'
import type { Connection } from './driver.js'
import { readAccounts } from './tables/accounts.js'
import { findAgent } from './tables/agents.js'
import { listLogs, readLog } from './tables/audit-entries.js'
import { listCounts } from './tables/counts.js'
import { findDecision } from './tables/decisions.js'
import { findDelivery, listDeliveries, listDue, pendingOf } from './tables/deliveries.js'
import { loadKeys } from './tables/keys.js'
import { findPolicyRevision, listPolicyRevisions } from './tables/policies.js'
import { findHeldReader, findReader, listReaders } from './tables/readers.js'
import { findNodes, listCheckpoints } from './tables/trees.js'
import { loadWebhooks } from './tables/webhooks.js'
import type { FeedTask, WriterTasks } from './writer-tasks.js'

/** Reads on some connection; rejects with StoreUnavailableError. */
export type Read = <T>(read: (db: Connection) => T | Promise<T>) => Promise<T>

/** Has the writer's thread do a task; rejects with StoreUnavailableError. */
export type AskWriter = <Name extends FeedTask>(
  task: Name,
  ...parameters: Parameters<WriterTasks[Name]>
) => Promise<ReturnType<WriterTasks[Name]>>

/** What the feed reads, on a connection of the store's or of its own. */
class SqliteFeedReads implements FeedReads {
  constructor(protected readonly read: Read) {}

  readLog(log: string, fromIndex: number, limit: number, maxBytes = Number.POSITIVE_INFINITY) {
    return this.read((db) => readLog(db, log, fromIndex, limit, maxBytes))
  }
  listLogs() {
    return this.read(listLogs)
  }

  findDecision(id: string) {
    return this.read((db) => findDecision(db, id))
  }
  findAgent(id: string) {
    return this.read((db) => findAgent(db, id))
  }
  findPolicyRevision(id: string, revision: number) {
    return this.read((db) => findPolicyRevision(db, id, revision))
  }
  loadKeys() {
    return this.read(loadKeys)
  }
  loadWebhooks() {
    return this.read(loadWebhooks)
  }
  readAccounts(keys: readonly AccountKey[]) {
    return this.read((db) => readAccounts(db, keys))
  }
  listPolicyRevisions(id: string, page: PageRequest) {
    return this.read((db) => listPolicyRevisions(db, id, page))
  }

  listReaders(prefix: string) {
    return this.read((db) => listReaders(db, prefix))
  }
  findReader(name: string) {
    return this.read((db) => findReader(db, name))
  }

  findDelivery(id: string) {
    return this.read((db) => findDelivery(db, id))
  }
  listDeliveries(filter: DeliveryFilter, page: PageRequest) {
    return this.read((db) => listDeliveries(db, filter, page))
  }
  listDue(webhookId: string, now: string, limit: number) {
    return this.read((db) => listDue(db, webhookId, now, limit))
  }
  pendingOf(webhookId: string) {
    return this.read((db) => pendingOf(db, webhookId))
  }

  listCounts(filter: CountFilter, limit: number) {
    return this.read((db) => listCounts(db, filter, limit))
  }

  findNodes(tree: string, places: readonly NodePlace[]) {
    return this.read((db) => findNodes(db, tree, places))
  }
  listCheckpoints(fromIndex: number, limit: number) {
    return this.read((db) => listCheckpoints(db, fromIndex, limit))
  }
}

interface Hold {
  readonly holder: string
  untilMs: number
  /** Resolves when the reader is taken. */
  readonly taken: Promise<HeldReader>
}

/**
 * The same with what the feed writes. Who holds a reader, and until when, is kept in the memory of this feed: nobody else has
 * the directory, so that no hold outlives this process. A second feed of the process would not see it, and take the reader
 * at once: the fences, which are on the disk, keep the writes of the first one out then.
 */
export class SqliteFeed extends SqliteFeedReads implements FeedWrites {
  readonly #ask: AskWriter
  readonly #nowMs: () => number
  /** By the names of the readers. */
  readonly #holds = new Map<string, Hold>()

  constructor(read: Read, ask: AskWriter, nowMs: () => number) {
    super(read)
    this.#ask = ask
    this.#nowMs = nowMs
  }

  async holdReader(name: string, holder: string, forMs: number): Promise<HeldReader | null> {
    const untilMs = this.#nowMs() + forMs
    const hold = this.#holds.get(name)
    if (hold === undefined || hold.untilMs <= this.#nowMs()) return this.#take(name, holder, untilMs)
    if (hold.holder !== holder) return this.read(() => null)
    hold.untilMs = untilMs
    await hold.taken
    return this.read((db) => findHeldReader(db, name))
  }

  async #take(name: string, holder: string, untilMs: number): Promise<HeldReader> {
    const hold: Hold = { holder, untilMs, taken: this.#ask('takeReader', name) }
    this.#holds.set(name, hold)
    try {
      return await hold.taken
    } catch (error) {
      if (this.#holds.get(name) === hold) this.#holds.delete(name)
      throw error
    }
  }

  releaseReaders(holder: string): Promise<void> {
    return this.read(() => {
      for (const [name, hold] of this.#holds) if (hold.holder === holder) this.#holds.delete(name)
    })
  }

  save(batch: FeedBatch): Promise<boolean> {
    return this.#ask('saveBatch', JSON.stringify(batch))
  }

  async removeReader(name: string): Promise<void> {
    this.#holds.delete(name)
    await this.#ask('removeReader', name)
  }

  addDelivery(delivery: StoredDelivery): Promise<void> {
    return this.#ask('addDeliveries', JSON.stringify([delivery]))
  }
  updateDeliveries(deliveries: readonly StoredDelivery[]): Promise<readonly string[]> {
    return this.#ask('updateDeliveries', JSON.stringify(deliveries))
  }
  removeDeliveries(webhookId: string, before: string | null): Promise<number> {
    return this.#ask('removeDeliveries', webhookId, before)
  }
  removeCounts(series: string, beforeMs: number): Promise<number> {
    return this.#ask('removeCounts', series, beforeMs)
  }
}

export function couldNotRead(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError('The store could not read.', { cause })
}

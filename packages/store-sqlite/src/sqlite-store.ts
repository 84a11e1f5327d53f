import { closeSync, openSync } from 'node:fs'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { AccountKey } from '@countersign/contract'
import type { IdempotencyRecord, StoredDecision } from '@countersign/store-port/documents'
import {
  type AccountFilter,
  type AuditFilter,
  type ClosedFilter,
  type CommitResult,
  type DecisionFilter,
  type HeldRequestFilter,
  type LogPosition,
  type Mutation,
  type OpenStatus,
  type PageRequest,
  type Store,
  StoreUnavailableError,
} from '@countersign/store-port/store'
import type { DataDirectory } from './data-directory.js'
import { Connection } from './driver.js'
import { couldNotRead, SqliteFeed } from './feed.js'
import { groupText } from './group-text.js'
import { SqliteLedger } from './ledger.js'
import { markClosed } from './page-sums.js'
import { configureReader } from './schema.js'
import { listAccounts, readAccounts } from './tables/accounts.js'
import { findAgent, findAgentMetadata, listAgents, loadAgents } from './tables/agents.js'
import { hasPosition, listAuditEntries, readLog } from './tables/audit-entries.js'
import {
  findDecision,
  findDecisionStatus,
  firstApprovalEnd,
  listClosed,
  listDecisions,
  listOpenReviews,
  listOverdue,
} from './tables/decisions.js'
import { listHeldRequests, readErasures } from './tables/held-requests.js'
import { findIdempotency } from './tables/idempotency.js'
import { loadKeys, loadKeyUses } from './tables/keys.js'
import { findSecret, isRestored } from './tables/meta.js'
import { listPolicies, listPolicyRevisions, loadPolicies, loadPoliciesOfSet } from './tables/policies.js'
import { loadWebhooks } from './tables/webhooks.js'
import { Wiping } from './wipe/wiping.js'
import { Writer } from './writer.js'
import type { Committed } from './writer-tasks.js'

/**
 * The writer's thread writes, and a connection here reads. When the writer has failed, the next call that needs one starts
 * another. Until the caller has called `openLog`, which says where the log ends now, commits are rejected.
 */
export class SqliteStore implements Store {
  readonly replicas = null
  readonly ledger = new SqliteLedger((read) => this.#readNow(read))
  readonly feed: SqliteFeed
  readonly #wiping = new Wiping(
    () => this.#read(readErasures),
    async (task, ...parameters) => (await this.#usableWriter()).ask(task, ...parameters),
  )
  readonly #directory: DataDirectory
  readonly #reader: Connection
  readonly #indexDescriptor: number
  #writer: Writer
  #logWriter: Writer | null = null
  #replacing: Promise<Writer> | null = null
  readonly #onError: (error: Error) => void
  #closed: Promise<void> | null = null
  /** The last commit failed, and no ping has shown since that there is room. */
  #hasFailed = false

  /**
   * @param nowMs the time that leases of readers are measured by
   * @param onError gets the errors of what the store does by itself; it tries again
   */
  constructor(directory: DataDirectory, nowMs: () => number, onError: (error: Error) => void) {
    this.#directory = directory
    this.#onError = onError
    this.feed = new SqliteFeed(
      (read) => this.#read(read),
      async (task, ...parameters) => (await this.#usableWriter()).ask(task, ...parameters),
      nowMs,
    )
    this.#reader = Connection.openReadOnly(directory.databasePath)
    configureReader(this.#reader)
    this.#indexDescriptor = openSync(`${directory.databasePath}-shm`, 'r')
    this.#writer = this.#newWriter()
  }

  async commit(mutations: readonly Mutation[]): Promise<CommitResult> {
    this.#assertOpen()
    if (this.#logWriter !== this.#writer) throw new StoreUnavailableError('The audit log has to be opened first.')
    this.ledger.expect(mutations)
    const { accounts, ...result } = await this.#tryCommit(mutations)
    this.ledger.takeOver(mutations.slice(0, result.written), accounts)
    return result
  }

  async openLog() {
    const writer = await this.#usableWriter()
    const log = await writer.ask('openLog')
    this.#logWriter = writer
    return log
  }

  hasEntry(position: LogPosition) {
    return this.#read((db) => hasPosition(db, position))
  }
  readLog(log: string, fromIndex: number, limit: number, maxBytes = Number.POSITIVE_INFINITY) {
    return this.#read((db) => readLog(db, log, fromIndex, limit, maxBytes))
  }
  isRestored() {
    return this.#read(isRestored)
  }
  async leaveLogs(): Promise<void> {
    await (await this.#usableWriter()).ask('leaveLog')
  }

  findDecision(id: string) {
    return this.#read((db) => findDecision(db, id))
  }
  findDecisionStatus(id: string) {
    return this.#read((db) => findDecisionStatus(db, id))
  }
  listDecisions(filter: DecisionFilter, page: PageRequest) {
    return this.#read((db) => listDecisions(db, filter, page))
  }
  listOpenReviews(now: string) {
    return this.#read((db) => listOpenReviews(db, now))
  }

  listOverdue(status: OpenStatus, now: string, limit: number) {
    return this.#read((db) => listOverdue(db, status, now, limit))
  }
  firstApprovalEnd() {
    return this.#read(firstApprovalEnd)
  }

  listClosed(filter: ClosedFilter, page: PageRequest) {
    return this.#read((db) => listClosed(db, filter, page))
  }
  async removeDecisions(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string): Promise<number> {
    const named = decisions.map(({ id, version }) => ({ id, version }))
    return (await this.#usableWriter()).ask('removeDecisions', named, now)
  }

  listHeldRequests(filter: HeldRequestFilter, page: PageRequest) {
    return this.#read((db) => listHeldRequests(db, filter, page))
  }
  wipe(): Promise<void> {
    return this.#wiping.join()
  }

  listAccounts(filter: AccountFilter, page: PageRequest) {
    return this.#read((db) => listAccounts(db, filter, page))
  }
  readAccounts(keys: readonly AccountKey[]) {
    return this.#read((db) => readAccounts(db, keys))
  }

  loadPolicies() {
    return this.#read(loadPolicies)
  }
  loadPoliciesOfSet(policySet: number) {
    return this.#read((db) => loadPoliciesOfSet(db, policySet))
  }
  listPolicies(page: PageRequest) {
    return this.#read((db) => listPolicies(db, page))
  }
  listPolicyRevisions(id: string, page: PageRequest) {
    return this.#read((db) => listPolicyRevisions(db, id, page))
  }

  loadAgents() {
    return this.#read(loadAgents)
  }
  findAgent(id: string) {
    return this.#read((db) => findAgent(db, id))
  }
  listAgents(agents: readonly string[] | null, page: PageRequest) {
    return this.#read((db) => listAgents(db, agents, page))
  }
  findAgentMetadata(id: string, revision: number) {
    return this.#read((db) => findAgentMetadata(db, id, revision))
  }

  loadKeys() {
    return this.#read(loadKeys)
  }
  loadKeyUses() {
    return this.#read(loadKeyUses)
  }
  async saveKeyUses(uses: ReadonlyMap<string, string>): Promise<void> {
    await (await this.#usableWriter()).ask('saveKeyUses', uses)
  }

  loadWebhooks() {
    return this.#read(loadWebhooks)
  }

  findIdempotency(name: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>, now: string) {
    return this.#read((db) => findIdempotency(db, name, now))
  }
  async purgeIdempotency(now: string): Promise<number> {
    return (await this.#usableWriter()).ask('purgeIdempotency', now)
  }

  listAuditEntries(filter: AuditFilter, page: PageRequest) {
    return this.#read((db) => listAuditEntries(db, filter, page))
  }

  async secret(name: string): Promise<string> {
    const known = await this.#read((db) => findSecret(db, name))
    return known ?? (await this.#usableWriter()).ask('makeSecret', name)
  }

  /** A port to the writer's thread, for a feed that another thread has opened (`open-feed.ts`). It is closed when that thread ends. */
  async connectWriter(): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel()
    const writer = await this.#usableWriter()
    writer.connect(port1)
    return port2
  }

  async ping(): Promise<void> {
    const writer = await this.#usableWriter()
    await writer.ask(this.#hasFailed ? 'proveRoom' : 'touch')
    this.#hasFailed = false
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    await this.#replacing?.catch(() => {})
    await this.#writer.ask('close').catch(() => {})
    await this.#writer.ended()
    this.#reader.close()
    // Only now: closing it would drop the locks that SQLite has on the file.
    closeSync(this.#indexDescriptor)
    try {
      markClosed(this.#directory.databasePath)
    } finally {
      this.#directory.release()
    }
  }

  async #tryCommit(mutations: readonly Mutation[]): Promise<Committed> {
    try {
      return await this.#writer.ask('commit', groupText(mutations))
    } catch (error) {
      this.ledger.doubt(mutations)
      this.#hasFailed = true
      throw error
    }
  }

  async #read<T>(read: (db: Connection) => T | Promise<T>): Promise<T> {
    this.#assertOpen()
    try {
      return await read(this.#reader)
    } catch (cause) {
      throw couldNotRead(cause)
    }
  }

  #readNow<T>(read: (db: Connection) => T): T {
    this.#assertOpen()
    try {
      return read(this.#reader)
    } catch (cause) {
      throw couldNotRead(cause)
    }
  }

  async #usableWriter(): Promise<Writer> {
    this.#assertOpen()
    if (this.#writer.isUsable) return this.#writer
    this.#replacing ??= this.#replaceWriter()
    return this.#replacing
  }

  #newWriter(): Writer {
    const { databasePath } = this.#directory
    return new Writer({ databasePath, indexDescriptor: this.#indexDescriptor }, this.#onError)
  }

  async #replaceWriter(): Promise<Writer> {
    try {
      await this.#writer.ended()
      this.#writer = this.#newWriter()
      return this.#writer
    } finally {
      this.#replacing = null
    }
  }

  #assertOpen(): void {
    if (this.#closed !== null) throw new StoreUnavailableError('The store is closed.')
  }
}

import { randomBytes } from 'node:crypto'
import { type Poll, poll, SerialQueue, withDeadline } from '@countersign/concurrency'
import type { AccountKey } from '@countersign/contract'
import type { IdempotencyRecord, StoredDecision } from '@countersign/store-port/documents'
import type { Lease } from '@countersign/store-port/lease'
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
import { listAccounts, readAccounts } from './budgets/accounts.js'
import { MongoLedger } from './budgets/ledger.js'
import { Settlements } from './budgets/settlements.js'
import { findAgent, findAgentMetadata, LastSeenWriter, listAgents, loadAgents } from './collections/agents.js'
import { hasEntry, listAuditEntries, readLog } from './collections/audit.js'
import {
  findDecision,
  findDecisionStatus,
  firstApprovalEnd,
  listDecisions,
  listHeldRequests,
  listOpenReviews,
  listOverdue,
} from './collections/decisions.js'
import { loadKeys, loadKeyUses, saveKeyUses } from './collections/keys.js'
import { listPolicies, listPolicyRevisions, loadPolicies, loadPoliciesOfSet } from './collections/policies.js'
import { loadWebhooks } from './collections/webhooks.js'
import type { Database } from './connection/database.js'
import { MongoFeed } from './feed/feed.js'
import { holdLease, releaseLeases } from './lease.js'
import { findIdempotency, purgeIdempotency } from './records/claims.js'
import { commitMutations } from './records/commit.js'
import type { Followers } from './records/finish-group.js'
import { Log } from './records/log.js'
import { LEFT_BEHIND_MS, recover } from './records/recovery.js'
import { listClosed, removeDecisions, removeTombstones } from './removal.js'
import { MongoReplicas } from './replicas.js'

const RENEW_EVERY_MS = 10_000
const RECOVER_EVERY_MS = 10_000
/** How long a store that closes tries to leave everything in order. */
const ORDER_WITHIN_MS = 3000

/** A store that several processes share. docs/storage.md says how each step of the port is carried out. */
export class MongoStore implements Store {
  readonly ledger: MongoLedger
  readonly feed: MongoFeed
  readonly lease: Lease
  readonly replicas: MongoReplicas
  readonly #process = randomBytes(9).toString('base64url')
  readonly #followers: Followers
  readonly #log: Log
  readonly #closing = new AbortController()
  readonly #polls: readonly Poll[]
  /** Commits and openings of the log, one after the other. Closing waits for them. */
  readonly #writes = new SerialQueue()
  #closed: Promise<void> | null = null

  /**
   * @param nowMs the time that the ages of marks and leases are measured by
   * @param onError gets the failure of a background task, which the store tries again
   */
  constructor(
    private readonly database: Database,
    private readonly nowMs: () => number,
    private readonly onError: (error: unknown) => void = () => {},
  ) {
    const settlements = new Settlements(database, nowMs)
    this.#followers = { settlements, lastSeen: new LastSeenWriter(database) }
    this.ledger = new MongoLedger(database, settlements, nowMs)
    this.feed = new MongoFeed(database, nowMs)
    this.#log = new Log(database, this.#followers, nowMs)
    this.replicas = new MongoReplicas(database, this.#process, nowMs)
    this.lease = { hold: (name, forMs) => holdLease(database, { name, holder: this.#process, forMs, nowMs: nowMs() }) }
    this.#polls = [
      // By itself, so that no recovery keeps this process from saying that it lives.
      poll(() => this.renew(), { everyMs: RENEW_EVERY_MS, onError }),
      poll(() => this.#recoverInTurn(), { everyMs: RECOVER_EVERY_MS, onError }),
    ]
  }

  commit(records: readonly Mutation[]): Promise<CommitResult> {
    return this.#writing(async () => {
      if (records.length > 0) this.#log.nextIndex
      try {
        const [database, log, nowMs] = [this.database, this.#log, this.nowMs]
        return await commitMutations({ database, log, ledger: this.ledger, nowMs, ...this.#followers }, records)
      } catch (error) {
        this.#log.doubt()
        throw unavailable(error)
      }
    })
  }

  openLog() {
    return this.#writing(() => this.#log.open())
  }

  hasEntry(position: LogPosition) {
    return hasEntry(this.database, position)
  }
  readLog(log: string, fromIndex: number, limit: number, maxBytes?: number) {
    return readLog(this.database, log, fromIndex, { limit, ...(maxBytes !== undefined && { maxBytes }) })
  }
  /** MongoDB's own tools restore it: they say nothing of that. */
  isRestored() {
    return this.#writing(async () => false)
  }
  leaveLogs() {
    return this.#writing(() => this.#log.leaveFree())
  }

  findDecision(id: string) {
    return findDecision(this.database, id)
  }
  findDecisionStatus(id: string) {
    return findDecisionStatus(this.database, id)
  }
  listDecisions(filter: DecisionFilter, page: PageRequest) {
    return listDecisions(this.database, filter, page)
  }
  listOpenReviews(now: string) {
    return listOpenReviews(this.database, now)
  }
  listOverdue(status: OpenStatus, now: string, limit: number) {
    return listOverdue(this.database, status, now, limit)
  }
  firstApprovalEnd() {
    return firstApprovalEnd(this.database)
  }

  listClosed(filter: ClosedFilter, page: PageRequest) {
    return listClosed(this.database, filter, page)
  }
  async removeDecisions(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string) {
    try {
      return await removeDecisions(this.database, this.#followers.settlements, decisions, now)
    } catch (error) {
      throw unavailable(error)
    }
  }

  listHeldRequests(filter: HeldRequestFilter, page: PageRequest) {
    return listHeldRequests(this.database, filter, page)
  }
  /** The files are MongoDB's own: docs/storage.md says what stays in them for how long. */
  async wipe() {
    this.database.assertOpen()
  }

  listAccounts(filter: AccountFilter, page: PageRequest) {
    return listAccounts(this.database, filter, page)
  }
  async readAccounts(keys: readonly AccountKey[]) {
    return readAccounts(this.database, keys)
  }

  loadPolicies() {
    return loadPolicies(this.database)
  }
  loadPoliciesOfSet(policySet: number) {
    return loadPoliciesOfSet(this.database, policySet)
  }
  listPolicies(page: PageRequest) {
    return listPolicies(this.database, page)
  }
  listPolicyRevisions(id: string, page: PageRequest) {
    return listPolicyRevisions(this.database, id, page)
  }

  loadAgents() {
    return loadAgents(this.database)
  }
  findAgent(id: string) {
    return findAgent(this.database, id)
  }
  listAgents(agents: readonly string[] | null, page: PageRequest) {
    return listAgents(this.database, agents, page)
  }
  findAgentMetadata(id: string, revision: number) {
    return findAgentMetadata(this.database, id, revision)
  }

  loadKeys() {
    return loadKeys(this.database)
  }
  loadKeyUses() {
    return loadKeyUses(this.database)
  }
  saveKeyUses(uses: ReadonlyMap<string, string>) {
    return saveKeyUses(this.database, uses)
  }

  loadWebhooks() {
    return loadWebhooks(this.database)
  }

  findIdempotency(name: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>, now: string) {
    return findIdempotency(this.database, name, now)
  }
  purgeIdempotency(now: string) {
    return purgeIdempotency(this.database, now)
  }

  listAuditEntries(filter: AuditFilter, page: PageRequest) {
    return listAuditEntries(this.database, filter, page)
  }

  async secret(name: string): Promise<string> {
    const { secrets } = this.database
    await this.database.insertNew(secrets, [{ _id: name, value: randomBytes(32).toString('base64url') }])
    const found = await this.database.call(() => secrets.findOne({ _id: { $eq: name } }))
    return found?.value as string
  }

  async ping(): Promise<void> {
    await this.database.touch('touched')
  }

  /** Says that this process lives: it does so every few seconds, too. */
  renew(): Promise<void> {
    return this.#log.renew()
  }

  /** Finishes what processes left half done that died: this one does it every few seconds, too. */
  async recover(olderThanMs = LEFT_BEHIND_MS): Promise<void> {
    const errors: unknown[] = []
    await this.#recover(olderThanMs, (error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }

  async #recover(olderThanMs: number, onError: (error: unknown) => void): Promise<void> {
    const [nowMs, { signal }] = [this.nowMs(), this.#closing]
    await recover(this.database, this.#followers, { nowMs, olderThanMs, signal, onError })
    await removeTombstones(this.database, nowMs).catch(onError)
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#polls.map((loop) => loop.stop()))
    await this.#writes.idle()
    // Whatever cannot be left in order now is put in order by the processes that go on.
    const order = [
      this.#releaseAll(),
      this.#log.giveUp(),
      this.replicas.leave(),
      releaseLeases(this.database, this.#process),
    ]
    const done = Promise.all(order.map((part) => part.catch(this.onError)))
    await withDeadline(done, ORDER_WITHIN_MS, () => new Error('It took too long.')).catch(() => {})
    await this.database.close()
  }

  async #releaseAll(): Promise<void> {
    await this.ledger.releaseAll()
    await this.#followers.settlements.finish()
  }

  async #recoverInTurn(): Promise<void> {
    if (await this.lease.hold('recovery', RECOVER_EVERY_MS)) await this.#recover(LEFT_BEHIND_MS, this.onError)
  }

  async #writing<T>(task: () => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw new StoreUnavailableError('The store is closed.')
    return this.#writes.run(task)
  }
}

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  return new StoreUnavailableError('The records could not be written.', { cause: error })
}

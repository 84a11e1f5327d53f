import { randomBytes } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import type { IdempotencyRecord, StoredDecision } from '../../ports/documents.js'
import type { Lease } from '../../ports/lease.js'
import {
  type AccountFilter,
  type AuditFilter,
  type ClosedFilter,
  type CommitResult,
  type DecisionFilter,
  type OpenStatus,
  type PageRequest,
  type Store,
  type StoreRecord,
  StoreUnavailableError,
} from '../../ports/store.js'
import { listAccounts, readAccounts } from './accounts.js'
import { findAgent, findAgentMetadata, listAgents, loadAgents, Sightings } from './agents.js'
import { listAuditEntries } from './audit.js'
import { findIdempotency, purgeIdempotency } from './claims.js'
import { commitRecords } from './commit.js'
import type { Database } from './database.js'
import {
  findDecision,
  findDecisionStatus,
  firstApprovalEnd,
  listDecisions,
  listOpenReviews,
  listOverdue,
} from './decisions.js'
import type { Followers } from './finish-group.js'
import { loadKeys, loadKeyUses, saveKeyUses } from './keys.js'
import { holdLease } from './lease.js'
import { MongoLedger } from './ledger.js'
import { Log } from './log.js'
import { listPolicies, listPolicyRevisions, loadPolicies, loadPoliciesOfSet } from './policies.js'
import { LEFT_BEHIND_MS, recover } from './recovery.js'
import { listClosed, removeDecisions, removeTombstones } from './removal.js'
import { MongoReplicas } from './replicas.js'
import { Settlements } from './settlements.js'

const RECOVER_EVERY_MS = 10_000

/** A store that several processes share. docs/storage.md tells how each step of the port is carried out. */
export class MongoStore implements Store {
  readonly ledger: MongoLedger
  readonly lease: Lease
  readonly replicas: MongoReplicas
  readonly #database: Database
  readonly #nowMs: () => number
  readonly #followers: Followers
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #working: Promise<unknown> = Promise.resolve()
  #recovering: Promise<void> | null = null
  #closed: Promise<void> | null = null

  /** @param nowMs the time that the ages of marks and leases are measured by */
  constructor(database: Database, nowMs: () => number) {
    this.#database = database
    this.#nowMs = nowMs
    const settlements = new Settlements(database, nowMs)
    this.#followers = { settlements, sightings: new Sightings(database) }
    this.ledger = new MongoLedger(database, settlements, nowMs)
    this.#log = new Log(database, this.#followers, nowMs)
    const process = randomBytes(9).toString('base64url')
    this.replicas = new MongoReplicas(database, process, nowMs)
    this.lease = { hold: (name, forMs) => holdLease(database, { name, holder: process, forMs, nowMs: nowMs() }) }
    this.#timer = setInterval(() => {
      this.#recovering ??= this.#tend().finally(() => {
        this.#recovering = null
      })
    }, RECOVER_EVERY_MS)
    this.#timer.unref()
  }

  commit(records: readonly StoreRecord[]): Promise<CommitResult> {
    return this.#work(async () => {
      if (records.length > 0) this.#log.nextIndex
      try {
        const { database, log, ledger } = { database: this.#database, log: this.#log, ledger: this.ledger }
        return await commitRecords({ database, log, ledger, ...this.#followers }, records)
      } catch (error) {
        this.#log.doubt()
        throw unavailable(error)
      }
    })
  }

  openLog() {
    return this.#work(() => this.#log.open())
  }

  findDecision(id: string) {
    return findDecision(this.#database, id)
  }
  findDecisionStatus(id: string) {
    return findDecisionStatus(this.#database, id)
  }
  listDecisions(filter: DecisionFilter, page: PageRequest) {
    return listDecisions(this.#database, filter, page)
  }
  listOpenReviews(now: string) {
    return listOpenReviews(this.#database, now)
  }
  listOverdue(status: OpenStatus, now: string, limit: number) {
    return listOverdue(this.#database, status, now, limit)
  }
  firstApprovalEnd() {
    return firstApprovalEnd(this.#database)
  }

  listClosed(filter: ClosedFilter, page: PageRequest) {
    return listClosed(this.#database, filter, page)
  }
  async removeDecisions(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string) {
    try {
      return await removeDecisions(this.#database, this.#followers.settlements, decisions, now)
    } catch (error) {
      throw unavailable(error)
    }
  }

  listAccounts(filter: AccountFilter, page: PageRequest) {
    return listAccounts(this.#database, filter, page)
  }
  async readAccounts(keys: readonly AccountKey[]) {
    return readAccounts(this.#database, keys)
  }

  loadPolicies() {
    return loadPolicies(this.#database)
  }
  loadPoliciesOfSet(policySet: number) {
    return loadPoliciesOfSet(this.#database, policySet)
  }
  listPolicies(page: PageRequest) {
    return listPolicies(this.#database, page)
  }
  listPolicyRevisions(id: string, page: PageRequest) {
    return listPolicyRevisions(this.#database, id, page)
  }

  loadAgents() {
    return loadAgents(this.#database)
  }
  findAgent(id: string) {
    return findAgent(this.#database, id)
  }
  listAgents(agents: readonly string[] | null, page: PageRequest) {
    return listAgents(this.#database, agents, page)
  }
  findAgentMetadata(id: string, revision: number) {
    return findAgentMetadata(this.#database, id, revision)
  }

  loadKeys() {
    return loadKeys(this.#database)
  }
  loadKeyUses() {
    return loadKeyUses(this.#database)
  }
  saveKeyUses(uses: ReadonlyMap<string, string>) {
    return saveKeyUses(this.#database, uses)
  }

  findIdempotency(name: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>, now: string) {
    return findIdempotency(this.#database, name, now)
  }
  purgeIdempotency(now: string) {
    return purgeIdempotency(this.#database, now)
  }

  listAuditEntries(filter: AuditFilter, page: PageRequest) {
    return listAuditEntries(this.#database, filter, page)
  }

  async secret(name: string): Promise<string> {
    const { secrets } = this.#database
    await this.#database.insertNew(secrets, [{ _id: name, value: randomBytes(32).toString('base64url') }])
    const found = await this.#database.call(() => secrets.findOne({ _id: { $eq: name } }))
    return found?.value as string
  }

  async ping(): Promise<void> {
    await this.#database.call(() =>
      this.#database.touches.updateOne({ _id: 'touched' }, { $inc: { count: 1 } }, { upsert: true }),
    )
  }

  /** Finishes what processes left half done that died: this one does it every few seconds, too. */
  async recover(olderThanMs = LEFT_BEHIND_MS): Promise<void> {
    const nowMs = this.#nowMs()
    await recover(this.#database, this.#followers, nowMs, olderThanMs)
    await removeTombstones(this.#database, nowMs)
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#recovering
    await this.#working
    try {
      // Whatever cannot be left in order now is put in order by the processes that go on.
      await this.ledger.releaseAll()
      await this.#followers.settlements.finish()
      await this.#log.giveUp()
      await this.replicas.leave()
    } catch {}
    await this.#database.close()
  }

  async #tend(): Promise<void> {
    try {
      await this.#log.renew()
      if (await this.lease.hold('recovery', RECOVER_EVERY_MS)) await this.recover()
    } catch {
      // The store is away; what is left to do is still there when it is back.
    }
  }

  /** Commits and openings of the log, one after the other; closing waits for them. */
  #work<T>(task: () => Promise<T>): Promise<T> {
    if (this.#closed !== null) return Promise.reject(new StoreUnavailableError('The store is closed.'))
    const done = this.#working.then(task)
    this.#working = done.catch(() => {})
    return done
  }
}

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  return new StoreUnavailableError('The records could not be written.', { cause: error })
}

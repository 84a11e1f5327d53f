import { randomBytes } from 'node:crypto'
import { type Poll, poll } from '../../concurrency/poll.js'
import { SerialQueue } from '../../concurrency/serial-queue.js'
import { withDeadline } from '../../concurrency/with-deadline.js'
import type { DecisionStore } from '../../ports/store/decisions.js'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { firstApprovalEnd } from '../../ports/store/first-approval-end.js'
import type { Lease } from '../../ports/store/lease.js'
import type { CommitResult, Mutation, Store } from '../../ports/store/store.js'
import { MongoLedger } from './budgets/ledger.js'
import { Settlements } from './budgets/settlements.js'
import { LastSeenWriter } from './collections/agents.js'
import {
  findDecision,
  findDecisionStatus,
  listDecisions,
  listHeldRequests,
  listOpenReviews,
  listOverdue,
  measureReviews,
} from './collections/decisions.js'
import type { Database } from './connection/database.js'
import { MongoFeedStore } from './feed-store.js'
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
/** How long a closing store tries to leave everything in order. */
const ORDER_WITHIN_MS = 3000

/** A store that several processes share. docs/storage.md describes how each method of the port works. */
export class MongoStore extends MongoFeedStore implements Store {
  override readonly decisions: DecisionStore = {
    ...this.bound({ get: findDecision, getStatus: findDecisionStatus, list: listDecisions }),
    ...this.bound({ listOpenReviews, measureReviews, listOverdue, listClosed, listHeldRequests }),
    firstApprovalEnd: () => firstApprovalEnd(this.decisions),
    remove: (decisions, now) =>
      removeDecisions(this.database, this.#followers.settlements, decisions, now).catch((error) => {
        throw unavailable(error)
      }),
  }
  readonly idempotency = this.bound({ get: findIdempotency, purge: purgeIdempotency })
  readonly ledger: MongoLedger
  readonly lease: Lease
  readonly replicas: MongoReplicas
  readonly #process = randomBytes(9).toString('base64url')
  readonly #followers: Followers
  readonly #log: Log
  readonly #closing = new AbortController()
  readonly #polls: readonly Poll[]
  /** Runs commits and openings of the log one at a time. Closing waits for them. */
  readonly #writes = new SerialQueue()
  #closed: Promise<void> | null = null

  /**
   * @param nowMs the time for the ages of marks and leases
   * @param onError gets the failure of a background task, which the store retries
   */
  constructor(
    database: Database,
    nowMs: () => number,
    private readonly onError: (error: unknown) => void = () => {},
  ) {
    super(database, nowMs)
    const settlements = new Settlements(database, nowMs)
    this.#followers = { settlements, lastSeen: new LastSeenWriter(database) }
    this.ledger = new MongoLedger(database, settlements, nowMs)
    this.#log = new Log(database, this.#followers, nowMs)
    this.replicas = new MongoReplicas(database, this.#process, nowMs)
    this.lease = { hold: (name, forMs) => holdLease(database, { name, holder: this.#process, forMs, nowMs: nowMs() }) }
    this.#polls = [
      // Runs separately, so that a recovery cannot keep this process from announcing that it is alive.
      poll(() => this.renew(), { everyMs: RENEW_EVERY_MS, onError }),
      poll(() => this.#recoverInTurn(), { everyMs: RECOVER_EVERY_MS, onError }),
    ]
  }

  /** Whether the data are, or may be, on several MongoDB servers: a replica set or a sharded cluster. */
  isReplicated(): Promise<boolean> {
    return this.database.isReplicated()
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

  /** MongoDB's own tools restore it and leave no trace. */
  isRestored() {
    return this.#writing(async () => false)
  }
  leaveLogs() {
    return this.#writing(() => this.#log.leaveFree())
  }

  /** The files belong to MongoDB: docs/storage.md says what stays in them for how long. */
  async wipe() {
    this.database.assertOpen()
  }

  async secret(name: string): Promise<string> {
    const { secrets } = this.database
    await this.database.insertNew(secrets, [{ _id: name, value: randomBytes(32).toString('base64url') }])
    const found = await this.database.call(() => secrets.findOne({ _id: { $eq: name } }))
    return found?.value as string
  }

  readonly wasWrittenByOthers = null

  async ping(): Promise<void> {
    await this.database.touch('touched')
  }

  /** Announces that this process is alive, which it also does every few seconds. */
  renew(): Promise<void> {
    return this.#log.renew()
  }

  /** Completes the unfinished work of dead processes, which this one also does every few seconds. */
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

  override close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#polls.map((loop) => loop.stop()))
    await this.#writes.idle()
    // What cannot be left in order now is repaired by the remaining processes.
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

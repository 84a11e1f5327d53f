import { closeSync, openSync } from 'node:fs'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { DecisionStore } from '../../ports/store/decisions.js'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { firstApprovalEnd } from '../../ports/store/first-approval-end.js'
import type { IdempotencyStore } from '../../ports/store/idempotency.js'
import type { KeyStore } from '../../ports/store/keys.js'
import type { MoveSource } from '../../ports/store/move.js'
import type { CommitResult, Mutation, Store } from '../../ports/store/store.js'
import type { DataDirectory } from './data-directory.js'
import { Connection } from './driver.js'
import { couldNotRead, SqliteFeedStore } from './feed-store.js'
import { groupText } from './group-text.js'
import { KnownNames } from './known-names.js'
import { SqliteLedger } from './ledger.js'
import { countRecords, findLogEnd, READ_ALL } from './move-source.js'
import { markClosed } from './page-sums.js'
import { configureReader } from './schema.js'
import {
  findDecision,
  findDecisionStatus,
  listClosed,
  listDecisions,
  listOpenReviews,
  listOverdue,
  measureReviews,
} from './tables/decisions.js'
import { listHeldRequests, readErasures } from './tables/held-requests.js'
import { findIdempotency, listNames } from './tables/idempotency.js'
import { loadKeys, loadKeyUses } from './tables/keys.js'
import { findSecret, isRestored } from './tables/meta.js'
import { findMoveNote } from './tables/move-note.js'
import { Wiping } from './wipe/wiping.js'
import { Writer } from './writer.js'
import type { Ask, Committed, WriterTasks } from './writer-tasks.js'

/** A page takes about a millisecond of the calling thread. */
const NAMES_PER_PAGE = 500

/**
 * The writer's thread writes, and a connection here reads. When the writer has failed, the next call that needs one
 * starts another. Commits are rejected until the caller has called `openLog`, which says where the log ends now.
 */
export class SqliteStore extends SqliteFeedStore implements Store {
  readonly replicas = null
  readonly ledger = new SqliteLedger((read) => this.#readNow(read))
  override readonly decisions: DecisionStore = {
    ...this.reads({
      get: findDecision,
      getStatus: findDecisionStatus,
      list: listDecisions,
      listOpenReviews,
      measureReviews,
      listOverdue,
      listClosed,
      listHeldRequests,
    }),
    firstApprovalEnd: () => firstApprovalEnd(this.decisions),
    remove: (decisions, now) => {
      const named = decisions.map(({ id, version }) => ({ id, version }))
      return this.#ask('removeDecisions', named, now)
    },
  }
  override readonly keys: KeyStore = {
    ...this.reads({ load: loadKeys, loadUses: loadKeyUses }),
    saveUses: (uses) => this.#ask('saveKeyUses', uses),
  }
  readonly #names = new KnownNames({
    // The writer does its tasks in their order.
    settled: () => this.#ask('dataVersion'),
    read: (after) => this.#read(listNames, [after, NAMES_PER_PAGE]),
  })
  readonly idempotency: IdempotencyStore = {
    get: async (name, now) => {
      this.#assertOpen()
      return this.#names.isCertainlyNew(name) ? null : this.#read(findIdempotency, [name, now])
    },
    purge: (now) => this.#ask('purgeIdempotency', now),
  }
  readonly move: MoveSource = {
    read: this.reads(READ_ALL),
    ...this.reads({ count: countRecords, logEnd: findLogEnd, findNote: findMoveNote }),
    note: (note) => this.#ask('writeMoveNote', note),
  }
  readonly #wiping = new Wiping(
    () => this.#read(readErasures, []),
    (task, ...parameters) => this.#ask(task, ...parameters),
  )
  readonly #reader: Connection
  readonly #indexDescriptor: number
  #writer: Writer
  #logWriter: Writer | null = null
  #replacing: Promise<Writer> | null = null
  #closed: Promise<void> | null = null
  /** As each writer last reported. */
  readonly #dataVersions = new WeakMap<Writer, number>()
  /** The last commit failed, and no ping has proved since that there is room. */
  #hasFailed = false

  /**
   * @param nowMs the time for leases of readers
   * @param onError called with errors of the store's background tasks, which it retries
   */
  constructor(
    private readonly directory: DataDirectory,
    nowMs: () => number,
    private readonly onError: (error: Error) => void,
  ) {
    super(
      (work, parameters) => this.#read(work, parameters),
      (task, ...parameters) => this.#ask(task, ...parameters),
      nowMs,
    )
    this.#reader = Connection.openReadOnly(directory.databasePath)
    configureReader(this.#reader)
    this.#indexDescriptor = openSync(`${directory.databasePath}-shm`, 'r')
    this.#writer = this.#newWriter()
  }

  async commit(mutations: readonly Mutation[]): Promise<CommitResult> {
    this.#assertOpen()
    if (this.#logWriter !== this.#writer) throw new StoreUnavailableError('The audit log must be opened first.')
    this.ledger.expect(mutations)
    for (const { idempotency } of mutations) if (idempotency !== null) this.#names.add(idempotency)
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

  isRestored() {
    return this.#read(isRestored, [])
  }
  leaveLogs(): Promise<void> {
    return this.#ask('leaveLog')
  }

  wipe(): Promise<void> {
    return this.#wiping.join()
  }

  async secret(name: string): Promise<string> {
    return (await this.#read(findSecret, [name])) ?? this.#ask('makeSecret', name)
  }

  /**
   * Returns a port to the writer's thread, for a feed that another thread has opened (`open-feed.ts`). It is closed
   * when that thread ends.
   */
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

  async wasWrittenByOthers(): Promise<boolean> {
    const writer = await this.#usableWriter()
    const version = await writer.ask('dataVersion')
    const before = this.#dataVersions.get(writer) ?? version
    this.#dataVersions.set(writer, version)
    return version !== before
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#names.close()
    await this.#replacing?.catch(() => {})
    await this.#writer.ask('close').catch(() => {})
    await this.#writer.ended()
    this.#reader.close()
    // Only now: closing it would drop SQLite's locks on the file.
    closeSync(this.#indexDescriptor)
    try {
      markClosed(this.directory.databasePath)
    } finally {
      this.directory.release()
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

  readonly #ask: Ask<keyof WriterTasks> = async (task, ...parameters) =>
    (await this.#usableWriter()).ask(task, ...parameters)

  async #read<Parameters extends readonly unknown[], Found>(
    work: (db: Connection, ...parameters: Parameters) => Found | Promise<Found>,
    parameters: Parameters,
  ): Promise<Found> {
    this.#assertOpen()
    try {
      return await work(this.#reader, ...parameters)
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
    const { databasePath } = this.directory
    return new Writer({ databasePath, indexDescriptor: this.#indexDescriptor }, this.onError)
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

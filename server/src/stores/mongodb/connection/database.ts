import { setTimeout as pause } from 'node:timers/promises'
import {
  type Collection,
  type Db,
  type DbOptions,
  type Document,
  type Filter,
  type IndexDescription,
  MongoBulkWriteError,
  MongoClient,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerError,
  ReadConcern,
} from 'mongodb'
import { Batches } from '../../../concurrency/batches.js'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import './driver-connection.js'
import type {
  AccountDocument,
  AgentDocument,
  AgentRevision,
  AuditDocument,
  CheckpointDocument,
  Claim,
  CountDocument,
  DecisionDocument,
  DeliveryDocument,
  KeyDirectory,
  KeyUse,
  LeaseDocument,
  LogDocument,
  NamedValue,
  PolicyDirectory,
  PolicyRevision,
  ReaderDocument,
  ReplicaDocument,
  RetiredKey,
  ReviewSlotsDocument,
  SchemaDocument,
  SigningKeyDocument,
  StoredLastSeen,
  TreeNodeDocument,
  WebhookDirectory,
} from '../stored.js'
import { Semaphore } from './semaphore.js'
import { assertFit } from './unfit-database.js'
import { readMongoUrl } from './url.js'

/** How long to wait for one answer. */
const ANSWER_LIMIT_MS = 3000
/** How long an operation is retried after its answer was lost, or the server was unreachable. */
const DEADLINE_MS = 4000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 200
/**
 * How long the server may work on a read, so that a filter that matches hardly anything cannot occupy it. It ends
 * before the client gives up.
 */
export const READ_LIMIT_MS = 2000
/** How long a call waits for a connection, or for its turn to read a list. */
const TURN_WAIT_MS = 2000
/** A change stream holds one of them. */
const CONNECTIONS = 21
/** The others are for commits, and for the calls that commits wait for. */
const CONNECTIONS_FOR_LISTS = 6

const DUPLICATE_KEY = 11000

/** Set on the database and not on the client, where options of the URL could weaken them. */
const CONCERNS: DbOptions = {
  writeConcern: { w: 'majority', journal: true },
  readConcern: new ReadConcern('majority'),
  readPreference: 'primary',
}

/** The only connection to the server. */
class Connection {
  /** By collection. */
  readonly #finders = new Map<unknown, Batches<string, unknown>>()
  #isClosed = false
  #retired: StoreUnavailableError | null = null
  #running = 0
  #wakeIdle: (() => void) | null = null

  protected constructor(
    private readonly client: MongoClient,
    private readonly db: Db,
  ) {}

  protected collection<T extends Document>(name: string): Collection<T> {
    return this.db.collection(name)
  }

  /**
   * Creates the missing indexes, one with each command: FerretDB fails when a command names two that exist. A server without
   * partial indexes goes without them: they only shorten a walk in the order of the ids.
   */
  async makeIndexes(collection: string, indexes: readonly IndexDescription[]): Promise<void> {
    for (const index of indexes)
      await this.call(() => this.db.collection(collection).createIndexes([index])).catch((error) => {
        if (index.partialFilterExpression === undefined || !isNotImplemented(error)) throw error
      })
  }

  /**
   * Makes a call that may be repeated.
   *
   * @throws StoreUnavailableError
   */
  async call<T>(make: () => Promise<T>): Promise<T> {
    this.assertOpen()
    this.#running += 1
    try {
      return await repeat(make, () => this.#isClosed)
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#wakeIdle?.()
    }
  }

  /**
   * Inserts documents whose ids are new; existing documents stay as they are. Returns which ones existed.
   *
   * @param leftMs how long from now it may be sent to the server, including the driver's own retries; later it is
   *   unavailable
   */
  async insertNew<T extends Document & { _id: string }>(
    collection: Collection<T>,
    documents: readonly T[],
    leftMs?: () => number,
  ): Promise<ReadonlySet<number>> {
    if (documents.length === 0) return new Set()
    return this.call(async () => {
      const timeoutMS = leftMs === undefined ? undefined : Math.min(Math.floor(leftMs()), ANSWER_LIMIT_MS)
      if (timeoutMS !== undefined && timeoutMS <= 0)
        throw new StoreUnavailableError('The deadline of this write has passed.')
      try {
        await collection.insertMany(documents as never, {
          ordered: false,
          ...(timeoutMS !== undefined && { timeoutMS }),
        })
        return new Set<number>()
      } catch (error) {
        return duplicatesOf(error)
      }
    })
  }

  /**
   * Finds a document by its id. Concurrent requests for a collection are sent as one command.
   *
   * @throws StoreUnavailableError
   */
  async findById<T extends Document & { _id: string }>(collection: Collection<T>, id: string): Promise<T | null> {
    const finder = this.#finders.get(collection) ?? new Batches<string, unknown>((ids) => this.#find(collection, ids))
    this.#finders.set(collection, finder)
    return (await finder.ask(id)) as T | null
  }

  async #find<T extends Document & { _id: string }>(
    collection: Collection<T>,
    ids: readonly string[],
  ): Promise<readonly unknown[]> {
    return this.findInOrder(collection, ids, (document) => document)
  }

  /**
   * Finds documents by their ids. Returns what `read` makes of each, in the order of the ids; null for one that is missing.
   *
   * @throws StoreUnavailableError
   */
  async findInOrder<T extends Document & { _id: string }, Item>(
    collection: Collection<T>,
    ids: readonly string[],
    read: (document: T) => Item | null,
  ): Promise<readonly (Item | null)[]> {
    const byId: ReadonlyMap<string, unknown> = await this.findByIds(collection, ids)
    return ids.map((id) => (byId.has(id) ? read(byId.get(id) as T) : null))
  }

  /**
   * Finds documents by their ids.
   *
   * @param members what to read of them besides the id; all when absent
   * @throws StoreUnavailableError
   */
  async findByIds<T extends Document & { _id: string }, Member extends keyof T & string = keyof T & string>(
    collection: Collection<T>,
    ids: readonly string[],
    members?: readonly Member[],
  ): Promise<ReadonlyMap<string, Pick<T, '_id' | Member>>> {
    const filter = { _id: { $in: [...ids] } } as Filter<T>
    const projection = members && Object.fromEntries(['_id', ...members].map((member) => [member, 1]))
    const found = await this.call(() =>
      collection.find<Pick<T, '_id' | Member>>(filter, { ...(projection && { projection }) }).toArray(),
    )
    return new Map(found.map((document) => [document._id, document]))
  }

  /** Whether no collection has a document. @throws StoreUnavailableError */
  isEmpty(): Promise<boolean> {
    return this.call(async () => {
      for (const { name } of await this.db.listCollections({}, { nameOnly: true }).toArray()) {
        if (name.startsWith('system.')) continue
        if ((await this.db.collection(name).findOne({}, { projection: { _id: 1 } })) !== null) return false
      }
      return true
    })
  }

  /** @throws StoreUnavailableError */
  isReplicated(): Promise<boolean> {
    return this.call(() => isReplicated(this.client))
  }

  /** From now on every call is refused for this reason. Returns it. */
  retire(reason: StoreUnavailableError): StoreUnavailableError {
    this.#retired ??= reason
    return reason
  }

  assertOpen(): void {
    if (this.#retired !== null) throw this.#retired
    if (this.#isClosed) throw new StoreUnavailableError('The store is closed.')
  }

  /** Refuses new calls, and waits for those in progress. */
  async close(): Promise<void> {
    this.#isClosed = true
    while (this.#running > 0)
      await new Promise<void>((resolve) => {
        this.#wakeIdle = resolve
      })
    await this.client.close()
  }
}

/**
 * The collections, and the only way to call the server: a call is repeated until it is answered or its time is over. So
 * every call must be idempotent; one that is not is made conditional, and first reads the present state.
 */
export class Database extends Connection {
  readonly meta = this.collection<SchemaDocument>('meta')
  readonly decisions = this.collection<DecisionDocument>('decisions')
  readonly accounts = this.collection<AccountDocument>('accounts')
  readonly agents = this.collection<AgentDocument>('agents')
  readonly agentRevisions = this.collection<AgentRevision>('agent_revisions')
  readonly lastSeen = this.collection<StoredLastSeen>('sightings')
  readonly policyDirectory = this.collection<PolicyDirectory>('policy_directory')
  readonly policies = this.collection<PolicyRevision>('policies')
  readonly keyDirectory = this.collection<KeyDirectory>('key_directory')
  readonly retiredKeys = this.collection<RetiredKey>('retired_keys')
  readonly keyUses = this.collection<KeyUse>('key_uses')
  readonly webhookDirectory = this.collection<WebhookDirectory>('webhook_directory')
  readonly readers = this.collection<ReaderDocument>('readers')
  readonly deliveries = this.collection<DeliveryDocument>('deliveries')
  readonly counts = this.collection<CountDocument>('counts')
  readonly treeNodes = this.collection<TreeNodeDocument>('tree_nodes')
  readonly checkpoints = this.collection<CheckpointDocument>('log_checkpoints')
  readonly claims = this.collection<Claim>('claims')
  readonly audit = this.collection<AuditDocument>('audit')
  readonly logs = this.collection<LogDocument>('logs')
  readonly secrets = this.collection<NamedValue>('secrets')
  readonly touches = this.collection<{ _id: string; count: number }>('touches')
  readonly leases = this.collection<LeaseDocument>('leases')
  readonly replicas = this.collection<ReplicaDocument>('replicas')
  readonly reviewSlots = this.collection<ReviewSlotsDocument>('review_places')
  readonly signingKeys = this.collection<SigningKeyDocument>('signing_keys')
  readonly signals = this.collection<{ _id: string; count: number }>('signals')
  /** Limits concurrent reads of lists. */
  readonly lists = new Semaphore(CONNECTIONS_FOR_LISTS, TURN_WAIT_MS)

  /**
   * @param answerLimitMs how long to wait for one answer; 0 for no limit
   * @throws StoreUnavailableError, UnfitDatabaseError
   */
  static async open(url: string, answerLimitMs = ANSWER_LIMIT_MS): Promise<Database> {
    const client = new MongoClient(url, {
      appName: 'countersign',
      retryWrites: true,
      retryReads: true,
      serverSelectionTimeoutMS: 2000,
      connectTimeoutMS: 2000,
      socketTimeoutMS: answerLimitMs,
      maxPoolSize: CONNECTIONS,
      waitQueueTimeoutMS: TURN_WAIT_MS,
      // An absent member stays absent.
      ignoreUndefined: false,
    })
    const database = new Database(client, client.db(readMongoUrl(url)?.database, CONCERNS))
    try {
      // The driver itself gives up permanently when its first command finds no server.
      await database.call(() => client.connect())
      assertFit(await database.call(() => client.db('admin').command({ buildInfo: 1 })), url)
    } catch (error) {
      await client.close()
      throw error
    }
    return database
  }

  /** Writes a document that only proves that a write succeeded. */
  async touch(name: string): Promise<void> {
    await this.call(() => this.touches.updateOne({ _id: name }, { $inc: { count: 1 } }, { upsert: true }))
  }
}

/** Whether the server is a replica set, or a sharded cluster. */
export async function isReplicated(client: MongoClient): Promise<boolean> {
  // Uses the older name of the command, which every server knows.
  const hello = await client.db('admin').command({ isMaster: 1 })
  return hello.setName !== undefined || hello.msg === 'isdbgrid'
}

async function repeat<T>(make: () => Promise<T>, isClosed: () => boolean): Promise<T> {
  const started = performance.now()
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
    try {
      return await make()
    } catch (cause) {
      if (cause instanceof StoreUnavailableError) throw cause
      if (isClosed() || !mayPass(cause) || performance.now() - started > DEADLINE_MS)
        throw new StoreUnavailableError('The store did not answer.', { cause })
    }
    await pause(wait, undefined, { ref: false })
  }
}

/** Whether a repeated call may succeed: there was no answer, or a server answered that is about to step down. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return !isTooLarge(error)
  // A bulk error wraps the error of its connection.
  const within: unknown = error.errorResponse
  if (within instanceof MongoNetworkError || within instanceof MongoOperationTimeoutError) return true
  return (
    error.hasErrorLabel('RetryableWriteError') ||
    error.hasErrorLabel('RetryableError') ||
    PASSING.has(Number(error.code))
  )
}

/** Codes of a member that is no longer the primary, that shuts down, or that could not reach the others in time. */
const PASSING = new Set([6, 7, 63, 64, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436])

/** Codes of an insert or update whose document has, or would have, more than 16 MiB. */
const TOO_LARGE = new Set([10334, 17419, 17420])

/** Whether a call failed because a document is too large, detected by the driver or by the server. */
export function isTooLarge(error: unknown): boolean {
  const cause = error instanceof StoreUnavailableError ? error.cause : error
  if (cause instanceof MongoInvalidArgumentError) return /larger than the maximum size/.test(cause.message)
  // The document does not even fit into the driver's buffer.
  if (cause instanceof RangeError) return true
  if (!(cause instanceof MongoServerError)) return false
  return [cause, ...writeErrorsOf(cause)].some(({ code }) => TOO_LARGE.has(Number(code)))
}

/** Code of a server of another make that lacks an option of a command. */
const NOT_IMPLEMENTED = 238

function isNotImplemented({ cause }: Error): boolean {
  return cause instanceof MongoServerError && cause.code === NOT_IMPLEMENTED
}

interface WriteFailure {
  readonly code: number
  readonly index: number
}

function writeErrorsOf(error: MongoServerError & { writeErrors?: unknown }): readonly WriteFailure[] {
  const { writeErrors } = error
  return (Array.isArray(writeErrors) ? writeErrors : writeErrors === undefined ? [] : [writeErrors]) as WriteFailure[]
}

/**
 * Returns the positions in a bulk whose key was taken. Throws any other error, including that a majority may lack the
 * others.
 */
export function duplicatesOf(error: unknown): ReadonlySet<number> {
  const isShort = error instanceof MongoBulkWriteError && error.result.getWriteConcernError() !== undefined
  if (error instanceof MongoServerError && !isShort) {
    const list = writeErrorsOf(error)
    if (list.length > 0 && list.every(({ code }) => code === DUPLICATE_KEY))
      return new Set(list.map(({ index }) => index))
  }
  throw error
}

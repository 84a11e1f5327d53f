import type { LogEnd } from '../../ports/store/audit.js'
import type { MovedKind, MovedRecords, MoveProgress, MoveState, MoveTarget } from '../../ports/store/move.js'
import type { WantedSlot } from '../../ports/store/replicas.js'
import { MongoReviewSlots } from './collections/review-slots.js'
import { Database } from './connection/database.js'
import { LogEnds } from './feed/log-ends.js'
import { KINDS } from './moved-kinds.js'
import { leaveLogBehind } from './records/log-document.js'
import { markKeySetRead } from './replicas.js'
import { KNOWN_SCHEMA, SCHEMA, UNSERVED_SCHEMA } from './schema.js'
import { makeIndexesAndDirectories } from './set-up.js'
import type { MoveDocument, SchemaDocument } from './stored.js'

/** A page of records takes longer than a commit. */
const ANSWER_LIMIT_MS = 30_000

/**
 * Connects to the database of a URL, and changes nothing yet.
 *
 * @throws StoreUnavailableError, UnfitDatabaseError
 */
export async function openMoveTarget(url: string): Promise<MoveTarget> {
  return new MongoMoveTarget(await Database.open(url, ANSWER_LIMIT_MS), url)
}

/**
 * The document of the schema version has the state of the move. Until the move is complete, its version is one that no
 * release knows, so that a server of any release refuses the database.
 */
class MongoMoveTarget implements MoveTarget {
  readonly #logEnds: LogEnds
  readonly #reviewSlots: MongoReviewSlots

  constructor(
    private readonly database: Database,
    private readonly url: string,
  ) {
    this.#logEnds = new LogEnds(database)
    this.#reviewSlots = new MongoReviewSlots(database)
  }

  async state(): Promise<MoveState> {
    const found = await this.#schema()
    if (found === null) return { kind: (await this.database.isEmpty()) ? 'empty' : 'used' }
    return stateOf(found)
  }

  async begin(id: string): Promise<MoveState> {
    const move: MoveDocument = { id, kind: 'underway', progress: null }
    await this.database.insertNew(this.database.meta, [{ _id: SCHEMA, version: UNSERVED_SCHEMA, move }])
    const state = await this.state()
    if (state.kind !== 'underway' || state.id !== id) return state
    await makeIndexesAndDirectories(this.url)
    // Nothing tells whether verifiers have read the key set of the server on the source.
    await markKeySetRead(this.database)
    return state
  }

  async write<Kind extends MovedKind>(kind: Kind, records: readonly MovedRecords[Kind][]): Promise<void> {
    await KINDS[kind].write(this.database, records)
  }

  async noteProgress(id: string, progress: MoveProgress): Promise<void> {
    await this.#update(id, { 'move.progress': progress })
  }

  find<Kind extends MovedKind>(kind: Kind, records: readonly MovedRecords[Kind][]) {
    return KINDS[kind].find(this.database, records)
  }

  count(kind: MovedKind): Promise<number> {
    return KINDS[kind].count(this.database)
  }

  async takeReviewSlots(slots: readonly WantedSlot[]): Promise<void> {
    if (slots.length > 0) await this.#reviewSlots.take(slots)
  }

  leaveLog(end: LogEnd): Promise<void> {
    return leaveLogBehind(this.database, end)
  }

  async complete(id: string): Promise<MoveState> {
    await this.#update(id, { version: KNOWN_SCHEMA, 'move.kind': 'completed', 'move.progress': null })
    return this.state()
  }

  async giveUp(id: string): Promise<MoveState> {
    await this.#update(id, { 'move.kind': 'undone' })
    return this.state()
  }

  listLogs(): Promise<readonly LogEnd[]> {
    return this.#logEnds.list()
  }

  close(): Promise<void> {
    return this.database.close()
  }

  #schema(): Promise<SchemaDocument | null> {
    return this.database.call(() => this.database.meta.findOne({ _id: SCHEMA }))
  }

  /** Changes nothing when the move has ended. */
  async #update(id: string, members: Readonly<Record<string, unknown>>): Promise<void> {
    const isUnderway = { _id: SCHEMA, 'move.id': id, 'move.kind': 'underway' } as const
    await this.database.call(() => this.database.meta.updateOne(isUnderway, { $set: members }))
  }
}

function stateOf({ move }: SchemaDocument): MoveState {
  return move ?? { kind: 'used' }
}

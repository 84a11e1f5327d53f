import { randomBytes } from 'node:crypto'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { FeedBatch, HeldReader, ReaderStore } from '../../../ports/store/feed.js'
import type { MovedReader } from '../../../ports/store/move.js'
import type { Database } from '../connection/database.js'
import { assertOwnSchema } from '../schema.js'
import type { ReaderDocument } from '../stored.js'
import { orderOf, writeCounts } from './counts.js'
import { addDeliveries } from './deliveries.js'
import { addTrees, type SavedTrees } from './trees.js'

type SavedReader = Pick<FeedBatch, 'positions' | 'state'>

/** The state of a reader after this process's last write. */
interface Known {
  readonly fence: number
  readonly saves: number
}

/**
 * Stores the readers. A save is one write of one document: the positions and the data that belong to them, which is
 * copied to its own collections before the save resolves. A process that takes the reader repeats that copy.
 */
export class Readers implements ReaderStore {
  readonly #known = new Map<string, Known>()

  constructor(
    private readonly database: Database,
    private readonly nowMs: () => number,
  ) {}

  async hold(name: string, holder: string, forMs: number): Promise<HeldReader | null> {
    for (;;) {
      const found = await this.#find(name)
      await assertOwnSchema(this.database)
      // Read afterwards, so that a write of another process is not in the future.
      const nowMs = this.nowMs()
      if (found === null) {
        await this.database.insertNew(this.database.readers, [newReader(name)])
        continue
      }
      const isHeld = found.until_ms > nowMs
      if (isHeld && found.holder !== holder) return null
      // Higher than the fence of a removed reader of the same name, because clocks advance.
      const fence = isHeld ? found.fence : Math.max(found.fence, nowMs) + 1
      const held = await this.#take(found, { holder, fence, until_ms: nowMs + forMs })
      if (held === null) continue
      await this.#follow(found)
      this.#known.set(name, { fence, saves: found.saves })
      return heldReaderOf(found, fence)
    }
  }

  /** Returns null when it was written since the read, or when the answer was lost: then read it again. */
  async #take(
    { _id, fence, saves, holder, until_ms }: ReaderDocument,
    members: Pick<ReaderDocument, 'holder' | 'fence' | 'until_ms'>,
  ): Promise<true | null> {
    const { matchedCount } = await this.database.call(() =>
      this.database.readers.updateOne({ _id, fence, saves, holder, until_ms }, { $set: members }),
    )
    return matchedCount === 1 ? true : null
  }

  async release(holder: string): Promise<void> {
    const { readers } = this.database
    await this.database.call(() =>
      readers.updateMany({ holder: { $eq: holder } }, { $set: { holder: null, until_ms: 0 } }),
    )
  }

  /**
   * Writes the deliveries first: a process that finds the positions finds them, too. False: another holder has the
   * reader.
   */
  async save(batch: FeedBatch): Promise<boolean> {
    const { name, fence } = batch.reader
    const { positions, state, counts, nodes, checkpoints } = batch
    await addDeliveries(this.database, batch.deliveries)
    const saves = await this.#savesOf(name, fence)
    if (saves === null) return false
    // Unknown until this write ends.
    this.#known.delete(name)
    const call = randomBytes(9).toString('base64url')
    const members = {
      saves: saves + 1,
      saved_by: call,
      document: JSON.stringify({ positions, state } satisfies SavedReader),
      counts: counts.length === 0 ? null : JSON.stringify(counts),
      counts_order: orderOf(fence, saves + 1),
      trees:
        nodes.length + checkpoints.length === 0 ? null : JSON.stringify({ nodes, checkpoints } satisfies SavedTrees),
    }
    const { matchedCount } = await this.database.call(() =>
      // Conditional on the number of saves, so that a delayed write changes nothing.
      this.database.readers.updateOne({ _id: { $eq: name }, fence, saves }, { $set: members }),
    )
    if (matchedCount === 0) {
      const found = await this.#find(name)
      if (found?.fence !== fence) return false
      if (found.saved_by !== call)
        throw new StoreUnavailableError('A save of this reader came through late: it must be read again.')
    }
    await this.#follow(members)
    this.#known.set(name, { fence, saves: saves + 1 })
    return true
  }

  async #savesOf(name: string, fence: number): Promise<number | null> {
    const known = this.#known.get(name)
    if (known?.fence === fence) return known.saves
    const found = await this.#find(name)
    return found?.fence === fence ? found.saves : null
  }

  async #follow({
    counts,
    counts_order,
    trees = null,
  }: Pick<ReaderDocument, 'counts' | 'counts_order' | 'trees'>): Promise<void> {
    if (counts !== null) await writeCounts(this.database, JSON.parse(counts), counts_order)
    if (trees !== null) await addTrees(this.database, JSON.parse(trees))
  }

  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    // Names are compared as bytes, so names with the same prefix are adjacent.
    for (let range: { $gte: string } | { $gt: string } = { $gte: prefix }; ; ) {
      const rows = await this.database.call(() =>
        this.database.readers
          .find({ _id: range, document: { $ne: null } })
          .sort({ _id: 1 })
          .limit(CHUNK)
          .project<{ _id: string }>({ _id: 1 })
          .toArray(),
      )
      const found = rows.map(({ _id }) => _id).filter((name) => name.startsWith(prefix))
      names.push(...found)
      if (found.length < CHUNK) return names
      range = { $gt: names.at(-1) as string }
    }
  }

  async get(name: string): Promise<SavedReader | null> {
    const document = (await this.#find(name))?.document ?? null
    return document === null ? null : JSON.parse(document)
  }

  async remove(name: string): Promise<void> {
    this.#known.delete(name)
    for (let found = await this.#find(name); found !== null; found = await this.#find(name)) {
      // Conditional, so that a delayed removal spares a new reader of that name.
      const { fence } = found
      await this.database.call(() => this.database.readers.deleteOne({ _id: { $eq: name }, fence }))
    }
  }

  #find(name: string): Promise<ReaderDocument | null> {
    return this.database.call(() => this.database.readers.findOne({ _id: { $eq: name } }))
  }
}

const CHUNK = 100

function newReader(name: string): ReaderDocument {
  return {
    _id: name,
    holder: null,
    until_ms: 0,
    fence: 0,
    saves: 0,
    saved_by: null,
    document: null,
    counts: null,
    counts_order: '',
    trees: null,
  }
}

function heldReaderOf({ _id, document }: ReaderDocument, fence: number): HeldReader {
  const saved: SavedReader | null = document === null ? null : JSON.parse(document)
  return { name: _id, fence, positions: saved?.positions ?? null, state: saved?.state ?? {} }
}

/** Takes all readers from their holders. */
export async function freeAllReaders(database: Database): Promise<void> {
  const free = { $inc: { fence: 1 }, $set: { holder: null, until_ms: 0 } }
  await database.call(() => database.readers.updateMany({}, free))
}

/** Writes readers that no process holds. */
export async function insertSavedReaders(database: Database, readers: readonly MovedReader[]): Promise<void> {
  const documents = readers.map(({ name, positions, state }) => ({
    ...newReader(name),
    document: JSON.stringify({ positions, state } satisfies SavedReader),
  }))
  await database.insertNew(database.readers, documents)
}

export async function findSavedReaders(
  database: Database,
  readers: readonly MovedReader[],
): Promise<readonly (MovedReader | null)[]> {
  const names = readers.map(({ name }) => name)
  return database.findInOrder(database.readers, names, ({ _id, document }) =>
    document === null ? null : { name: _id, ...(JSON.parse(document) as SavedReader) },
  )
}

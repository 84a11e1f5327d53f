import type { Collection, Document, Filter } from 'mongodb'
import type { Page, PageRequest } from '../../../ports/store.js'
import { type Database, READ_LIMIT_MS } from '../connection/database.js'

/** A walk over a collection, newest first. */
export interface Walk<T extends Document> {
  readonly collection: Collection<T>
  readonly conditions: readonly Filter<Document>[]
  /** By time and id, or by one member alone; all falling. */
  readonly by: readonly [time: 'at_ms', id: '_id' | 'id'] | readonly [member: string]
  /** Inclusive, RFC 3339. */
  readonly from?: string | undefined
  /** Exclusive. */
  readonly to?: string | undefined
  /** A test that is made here. */
  readonly keep?: ((document: T) => boolean | Promise<boolean>) | undefined
  /** What a test looks at; whole documents when absent. */
  readonly looksAt?: readonly string[]
}

const FIRST_CHUNK = 256
const LARGEST_CHUNK = 2048
/** After so long the page is what was found by then. */
const WALK_MS = 2000

/**
 * One page of a walk. It comes short, or empty, and names a next one, where the test lets hardly anything pass: the work for
 * a page is bounded, and ends when nobody waits for it any more.
 */
export async function pageOf<T extends Document>(
  database: Database,
  walk: Walk<T>,
  { limit, after, isWanted = () => true }: PageRequest,
): Promise<Page<T>> {
  const started = performance.now()
  const found: T[] = []
  let place = after
  for (let size = FIRST_CHUNK; ; size = Math.min(2 * size, LARGEST_CHUNK)) {
    const wanted = walk.keep === undefined ? limit + 1 - found.length : size
    const documents = await readFrom(database, walk, place, wanted)
    for (const document of documents) {
      if (walk.keep === undefined || (await walk.keep(document))) found.push(document)
      if (found.length > limit) break
    }
    if (found.length > limit) {
      const items = found.slice(0, limit)
      return { items: await wholeOf(database, walk, items), next: placeOf(walk, items.at(-1) as T) }
    }
    const isDone = documents.length < wanted
    if (!isDone) place = placeOf(walk, documents.at(-1) as T)
    if (isDone || performance.now() - started > WALK_MS || !isWanted())
      return { items: await wholeOf(database, walk, found), next: isDone ? null : place }
  }
}

/** Whether only that is read which the test looks at. */
function isPartial<T extends Document>(walk: Walk<T>): walk is Walk<T> & { readonly looksAt: readonly string[] } {
  return walk.keep !== undefined && walk.looksAt !== undefined
}

/** What was found, as whole documents: without those that were removed since. */
async function wholeOf<T extends Document>(database: Database, walk: Walk<T>, found: readonly T[]): Promise<T[]> {
  if (!isPartial(walk) || found.length === 0) return [...found]
  const ids = found.map(({ _id }) => _id)
  const whole = await database.call(() => walk.collection.find({ _id: { $in: ids } } as Filter<T>).toArray())
  const byId = new Map(whole.map((document) => [document._id, document as T]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function readFrom<T extends Document>(
  database: Database,
  walk: Walk<T>,
  after: string | null,
  limit: number,
): Promise<T[]> {
  const filter = { $and: [...walk.conditions, ...rangeOf(walk, after)] } as Filter<T>
  const sort = Object.fromEntries(walk.by.map((member) => [member, -1 as const]))
  return database.lists.pass(() =>
    database.call(async () => {
      const cursor = walk.collection.find(filter).sort(sort).limit(limit).maxTimeMS(READ_LIMIT_MS)
      if (!isPartial(walk)) return (await cursor.toArray()) as T[]
      const members = [...walk.by, ...walk.looksAt].map((member) => [member, 1 as const])
      return await cursor.project<T>(Object.fromEntries(members)).toArray()
    }),
  )
}

function rangeOf<T extends Document>({ by, from, to }: Walk<T>, after: string | null): readonly Filter<Document>[] {
  const [first, second] = by
  if (second === undefined) return [{ [first]: after === null ? { $gt: '' } : { $gt: '', $lt: after } }]
  const range = {
    $gte: from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(from),
    ...(to !== undefined && { $lt: Date.parse(to) }),
  }
  if (after === null) return [{ [first]: range }]
  const [time = '', ...id] = after.split('/')
  const at = Number(time)
  return [
    { [first]: { ...range, $lte: at } },
    { $or: [{ [first]: { $lt: at } }, { [first]: at, [second]: { $lt: id.join('/') } }] },
  ].map(({ ...filter }) => filter)
}

function placeOf<T extends Document>({ by }: Walk<T>, document: T): string {
  return by.map((member) => String(document[member])).join('/')
}

/** The condition that a member has a value; none when there is no value to have. */
export function equality(member: string, value: string | null | undefined): readonly Filter<Document>[] {
  return value === undefined ? [] : [{ [member]: { $eq: value } }]
}

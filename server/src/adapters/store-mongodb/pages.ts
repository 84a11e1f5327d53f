import type { Collection, Document, Filter } from 'mongodb'
import type { Page, PageRequest } from '../../ports/store.js'
import { type Database, READ_LIMIT_MS } from './database.js'

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
}

const FIRST_CHUNK = 256
const LARGEST_CHUNK = 2048

/** One page of a walk. */
export async function pageOf<T extends Document>(
  database: Database,
  walk: Walk<T>,
  { limit, after }: PageRequest,
): Promise<Page<T>> {
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
      return { items, next: placeOf(walk, items.at(-1) as T) }
    }
    if (documents.length < wanted) return { items: found, next: null }
    place = placeOf(walk, documents.at(-1) as T)
  }
}

function readFrom<T extends Document>(
  database: Database,
  walk: Walk<T>,
  after: string | null,
  limit: number,
): Promise<T[]> {
  const filter = { $and: [...walk.conditions, ...rangeOf(walk, after)] } as Filter<T>
  const sort = Object.fromEntries(walk.by.map((member) => [member, -1 as const]))
  return database.call(
    async () => (await walk.collection.find(filter).sort(sort).limit(limit).maxTimeMS(READ_LIMIT_MS).toArray()) as T[],
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

import type { Collection, Document, Filter } from 'mongodb'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { PageRoom } from '../../../ports/store/page-room.js'
import { ofSoundRows } from '../../../ports/store/row-document.js'
import { type Database, READ_LIMIT_MS } from '../connection/database.js'

/** A walk over a collection, newest first unless stated otherwise. */
export interface Walk<T extends Document> {
  readonly collection: Collection<T>
  readonly conditions: readonly Filter<Document>[]
  /** By time and id, or by one member alone; all descending, or all ascending. */
  readonly by: readonly [time: 'at_ms', id: '_id' | 'id'] | readonly [member: string]
  readonly isOldestFirst?: true
  /** Inclusive, RFC 3339. */
  readonly from?: string | undefined
  /** Exclusive. */
  readonly to?: string | undefined
  /** A test that runs in this process. */
  readonly keep?: ((document: T) => boolean | Promise<boolean>) | undefined
  /** The members that the test reads; whole documents when absent. */
  readonly looksAt?: readonly string[]
}

const FIRST_CHUNK = 256
const LARGEST_CHUNK = 2048
/** After this time the page ends with the rows found so far. */
const WALK_MS = 2000

/**
 * Reads one page of a walk. When hardly anything passes the test, the page may be short or empty and still name a next
 * one: the work per page is bounded, and ends when the caller no longer waits for it.
 */
export async function pageOf<T extends Document, Item>(
  database: Database,
  walk: Walk<T>,
  make: (document: T) => Item,
  page: PageRequest,
): Promise<Page<Item>> {
  const { found, next } = await walkOn(database, walk, page)
  // Whole documents are read only as far as they fit the page.
  const whole = isPartial(walk) ? wholeOf(database, walk, found, page) : found
  const nameOf = (document: T) => cursorOf(walk, document)
  const { items, next: cutAt } = await takePage(whole, page, { make, nameOf })
  return { items, next: cutAt ?? next }
}

/** Reads one page with only the members that the walk's test reads. */
export async function partialPageOf<T extends Document, Item>(
  database: Database,
  walk: Walk<T>,
  make: (document: T) => Item,
  page: PageRequest,
): Promise<Page<Item>> {
  const { found, next } = await walkOn(database, walk, page)
  return { items: found.map(make), next }
}

interface PageTaker<T, Item> {
  readonly make: (document: T) => Item
  /** Returns the position of a document, as `next` names it. */
  readonly nameOf: (document: T) => string
}

/** Builds a page from documents in its order, as far as they fit. */
export async function takePage<T extends Document, Item>(
  documents: AsyncIterable<T> | Iterable<T>,
  page: PageRequest,
  { make, nameOf }: PageTaker<T, Item>,
): Promise<Page<Item>> {
  const room = new PageRoom(page)
  const taken: T[] = []
  let next: string | null = null
  for await (const document of documents) {
    if (!room.takes(bytesOf(document))) {
      next = nameOf(taken.at(-1) as T)
      break
    }
    taken.push(document)
  }
  const items: Item[] = []
  for (const document of taken) {
    await page.pause?.()
    items.push(...ofSoundRows([document], make, page.onDamaged))
  }
  return { items, next }
}

/** How many whole documents are read at a time for a page, because their size is not known before. */
export function rowsAtOnce({ limit, maxBytes }: Pick<PageRequest, 'limit' | 'maxBytes'>): number {
  return maxBytes === undefined ? limit + 1 : Math.min(limit + 1, ROWS_AT_ONCE)
}
const ROWS_AT_ONCE = 16

/** Returns the documents of one page, or only the members that the test reads. */
async function walkOn<T extends Document>(
  database: Database,
  walk: Walk<T>,
  page: PageRequest,
): Promise<{ readonly found: readonly T[]; readonly next: string | null }> {
  const { limit, after, isWanted = () => true } = page
  const started = performance.now()
  const room = new PageRoom(isPartial(walk) ? { limit } : page)
  const found: T[] = []
  let cursor = after
  for (let size = FIRST_CHUNK; ; size = Math.min(2 * size, LARGEST_CHUNK)) {
    const wanted = walk.keep === undefined ? Math.min(limit + 1 - found.length, rowsAtOnce(page)) : size
    const documents = await readFrom(database, walk, cursor, wanted)
    for (const document of documents) {
      if (walk.keep !== undefined && !(await walk.keep(document))) continue
      if (!room.takes(bytesOf(document))) return { found, next: cursorOf(walk, found.at(-1) as T) }
      found.push(document)
    }
    const isDone = documents.length < wanted
    if (!isDone) cursor = cursorOf(walk, documents.at(-1) as T)
    if (isDone || performance.now() - started > WALK_MS || !isWanted()) return { found, next: isDone ? null : cursor }
  }
}

/** Whether the walk reads only the members of its test. */
function isPartial<T extends Document>(walk: Walk<T>): walk is Walk<T> & { readonly looksAt: readonly string[] } {
  return walk.keep !== undefined && walk.looksAt !== undefined
}

/** Yields the found documents in full, without those that were removed since. */
async function* wholeOf<T extends Document>(
  database: Database,
  walk: Walk<T>,
  found: readonly T[],
  page: PageRequest,
): AsyncGenerator<T> {
  const count = rowsAtOnce(page)
  for (let done = 0; done < found.length; done += count) {
    const ids = found.slice(done, done + count).map(({ _id }) => _id)
    const whole = await database.call(() => walk.collection.find({ _id: { $in: ids } } as Filter<T>).toArray())
    const byId = new Map(whole.map((document) => [document._id, document as T]))
    yield* ids.flatMap((id) => byId.get(id) ?? [])
  }
}

/** Counts the texts of a document, which are nearly all of it. */
export function bytesOf(document: Document): number {
  let bytes = 0
  for (const value of Object.values(document)) if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}

function readFrom<T extends Document>(
  database: Database,
  walk: Walk<T>,
  after: string | null,
  limit: number,
): Promise<T[]> {
  const filter = { $and: [...walk.conditions, ...rangeOf(walk, after)] } as Filter<T>
  const sort = Object.fromEntries(walk.by.map((member) => [member, walk.isOldestFirst ? 1 : -1] as const))
  return database.lists.run(() =>
    database.call(async () => {
      const found = walk.collection.find(filter).sort(sort).limit(limit).maxTimeMS(READ_LIMIT_MS)
      if (!isPartial(walk)) return (await found.toArray()) as T[]
      const members = [...walk.by, ...walk.looksAt].map((member) => [member, 1 as const])
      return await found.project<T>(Object.fromEntries(members)).toArray()
    }),
  )
}

function rangeOf<T extends Document>(
  { by, isOldestFirst, from, to }: Walk<T>,
  after: string | null,
): readonly Filter<Document>[] {
  const [first, second] = by
  const [beyond, fromThere] = isOldestFirst ? ['$gt', '$gte'] : ['$lt', '$lte']
  if (second === undefined) return [{ [first]: after === null ? { $gt: '' } : { $gt: '', [beyond]: after } }]
  const range = {
    $gte: from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(from),
    ...(to !== undefined && { $lt: Date.parse(to) }),
  }
  if (after === null) return [{ [first]: range }]
  const [time = '', ...id] = after.split('/')
  const at = Number(time)
  return [
    { [first]: { ...range, [fromThere]: at } },
    { $or: [{ [first]: { [beyond]: at } }, { [first]: at, [second]: { [beyond]: id.join('/') } }] },
  ].map(({ ...filter }) => filter)
}

function cursorOf<T extends Document>({ by }: Walk<T>, document: T): string {
  return by.map((member) => String(document[member])).join('/')
}

/** The condition that a member has a value; none when no value is given. */
export function equality(member: string, value: string | null | undefined): readonly Filter<Document>[] {
  return value === undefined ? [] : [{ [member]: { $eq: value } }]
}

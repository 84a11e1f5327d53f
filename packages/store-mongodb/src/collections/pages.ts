import { PageRoom } from '@countersign/store-port/page-room'
import type { Page, PageRequest } from '@countersign/store-port/store'
import type { Collection, Document, Filter } from 'mongodb'
import { type Database, READ_LIMIT_MS } from '../connection/database.js'

/** A walk over a collection, newest first unless it says otherwise. */
export interface Walk<T extends Document> {
  readonly collection: Collection<T>
  readonly conditions: readonly Filter<Document>[]
  /** By time and id, or by one member alone; all falling, or all rising. */
  readonly by: readonly [time: 'at_ms', id: '_id' | 'id'] | readonly [member: string]
  readonly isOldestFirst?: true
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
export async function pageOf<T extends Document, Item>(
  database: Database,
  walk: Walk<T>,
  make: (document: T) => Item,
  page: PageRequest,
): Promise<Page<Item>> {
  const { found, next } = await walkOn(database, walk, page)
  // Whole documents are read as far as the page takes them; of those that are here the walk has taken no more.
  const whole = isPartial(walk) ? wholeOf(database, walk, found, page) : found
  const nameOf = (document: T) => cursorOf(walk, document)
  const { items, next: cutAt } = await takePage(whole, page, { make, nameOf })
  return { items, next: cutAt ?? next }
}

/** One page of what a walk looks at: of the documents, nothing else is read. */
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
  /** The position of a document, as `next` names it. */
  readonly nameOf: (document: T) => string
}

/** The page that documents begin, which come in its order: no more of them is taken than the page has room for. */
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
    items.push(make(document))
  }
  return { items, next }
}

/** So many whole documents are read at a time for a page: how large they are is not known before. */
export function rowsAtOnce({ limit, maxBytes }: Pick<PageRequest, 'limit' | 'maxBytes'>): number {
  return maxBytes === undefined ? limit + 1 : Math.min(limit + 1, ROWS_AT_ONCE)
}
const ROWS_AT_ONCE = 16

/** The documents of one page, or what is looked at of them. */
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

/** Whether only that is read which the test looks at. */
function isPartial<T extends Document>(walk: Walk<T>): walk is Walk<T> & { readonly looksAt: readonly string[] } {
  return walk.keep !== undefined && walk.looksAt !== undefined
}

/** What was found, as whole documents: without those that were removed since. */
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

/** Of the texts of a document, which are nearly all of it. */
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

/** The condition that a member has a value; none when there is no value to have. */
export function equality(member: string, value: string | null | undefined): readonly Filter<Document>[] {
  return value === undefined ? [] : [{ [member]: { $eq: value } }]
}

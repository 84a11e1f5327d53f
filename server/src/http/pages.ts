import { LIMITS, type Page as WirePage } from '@countersign/contract'
import type { Page, PageRequest } from '../ports/store/page.js'
import type { FollowedPage, FollowStart } from '../use-cases/audit/follow.js'
import type { Cursors } from './cursor.js'
import type { Pause } from './long-work.js'
import type { Reply } from './reply.js'
import type { Call } from './route.js'

interface PageParameters {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/**
 * Answers a list: opens the cursor, loads the page, and seals the cursor of the next one.
 *
 * @throws DomainError invalid_cursor
 */
export async function replyPage<Item, Query extends PageParameters>(
  cursors: Cursors,
  call: Call<unknown, Query, unknown>,
  load: (page: PageRequest) => Promise<Page<Item>> | Page<Item>,
): Promise<Pick<Reply, 'text'>> {
  const { limit = LIMITS.pageSizeDefault, cursor, ...filters } = call.query
  const list = JSON.stringify([call.path, call.params, Object.entries(filters).sort(), call.caller.key.id])
  const after = cursor === undefined ? null : cursors.open(list, cursor)
  const { isWanted, pause } = call
  const found = await load({ limit, maxBytes: LIMITS.pageBytes, after, isWanted, pause })
  const next = found.next === null ? null : cursors.seal(list, found.next)
  return { text: await pageText({ data: found.items, next_cursor: next }, pause) }
}

/** The list that the cursors of a followed audit log belong to. Those without leaf hashes had another name. */
const FOLLOWED = 'audit entries, oldest first, with leaf hashes'

/**
 * Answers a list that is read oldest first and never ends. Its cursor has the place in each log, and nothing about
 * the caller: a key that may read the log sees all of it, so a reader continues with a new key, or with other filters.
 *
 * @throws DomainError invalid_cursor
 */
export async function replyFollowed(
  cursors: Cursors,
  call: Call<unknown, Pick<PageParameters, 'limit'> & { readonly after?: string | undefined }, unknown>,
  load: (start: FollowStart, page: PageRequest) => Promise<FollowedPage>,
): Promise<Pick<Reply, 'text'>> {
  const { limit = LIMITS.pageSizeDefault, after } = call.query
  const { isWanted, pause } = call
  const page = { limit, maxBytes: LIMITS.pageBytes, after: null, isWanted, pause }
  const { items, places } = await load(startOf(cursors, after), page)
  const rows = Object.entries(places).map(([log, { next_index, leaf }]): PlaceRow => [log, next_index, leaf])
  const next = cursors.seal(FOLLOWED, JSON.stringify(rows.sort()))
  return { text: await pageText({ data: items, next_cursor: next }, pause) }
}

/** A place in a log, as a cursor has it. */
type PlaceRow = readonly [log: string, nextIndex: number, leaf: string]

/** @throws DomainError invalid_cursor */
function startOf(cursors: Cursors, after: string | undefined): FollowStart {
  if (after === undefined) return 'oldest'
  if (after === 'now') return 'now'
  const rows: readonly PlaceRow[] = JSON.parse(cursors.open(FOLLOWED, after))
  return Object.fromEntries(rows.map(([log, next_index, leaf]) => [log, { next_index, leaf }]))
}

async function pageText<Item>({ data, next_cursor }: WirePage<Item>, pause: Pause): Promise<string> {
  const items: string[] = []
  for (const item of data) {
    await pause()
    items.push(JSON.stringify(item))
  }
  return `{"data":[${items.join(',')}],"next_cursor":${JSON.stringify(next_cursor)}}`
}

type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Returns the filters that the caller gave, without absent parameters. */
export function givenFilters<T extends object>(filters: T): Present<T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as Present<T>
}

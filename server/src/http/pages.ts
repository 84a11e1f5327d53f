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

/** The list that the cursors of a followed audit log belong to. */
const FOLLOWED = 'audit entries, oldest first'

/**
 * Answers a list that is read oldest first and never ends. Its cursor has the position in each log, and nothing about
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
  const { items, positions } = await load(startOf(cursors, after), page)
  const next = cursors.seal(FOLLOWED, JSON.stringify(Object.entries(positions).sort()))
  return { text: await pageText({ data: items, next_cursor: next }, pause) }
}

function startOf(cursors: Cursors, after: string | undefined): FollowStart {
  if (after === undefined) return 'oldest'
  return after === 'now' ? 'now' : Object.fromEntries(JSON.parse(cursors.open(FOLLOWED, after)))
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

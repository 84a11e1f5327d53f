import { LIMITS, type Page as WirePage } from '@countersign/contract'
import type { Page, PageRequest } from '@countersign/store-port/store'
import { z } from 'zod'
import type { Cursors } from './cursor.js'
import type { Pause } from './long-work.js'
import { queryNumber } from './query-number.js'
import type { Reply } from './reply.js'
import type { Call } from './route.js'

const LimitSchema = queryNumber(1, LIMITS.pageSize, {
  error: `must be a whole number from 1 to ${LIMITS.pageSize}`,
  description:
    `The maximum number of items; ${LIMITS.pageSizeDefault} when absent. ` +
    `A page also ends at ${LIMITS.pageBytes / 1024 ** 2} MiB.`,
  default: LIMITS.pageSizeDefault,
})

/** `limit` and `cursor`, as every list takes them. */
export const pageQuery = {
  limit: LimitSchema.optional(),
  // Any text, also an empty one: opening the cursor reports what is wrong with it, with one error code.
  cursor: z.string().optional().meta({ description: 'The `next_cursor` of the previous page.' }),
}

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
  path: string,
  call: Call<unknown, Query>,
  load: (page: PageRequest) => Promise<Page<Item>> | Page<Item>,
): Promise<Pick<Reply, 'text'>> {
  const { limit = LIMITS.pageSizeDefault, cursor, ...filters } = call.query
  const list = JSON.stringify([path, call.params, Object.entries(filters).sort(), call.caller.key.id])
  const after = cursor === undefined ? null : cursors.open(list, cursor)
  const { isWanted, pause } = call
  const found = await load({ limit, maxBytes: LIMITS.pageBytes, after, isWanted, pause })
  const next = found.next === null ? null : cursors.seal(list, found.next)
  return { text: await pageText({ data: found.items, next_cursor: next }, pause) }
}

/** A page as JSON, item by item. */
async function pageText<Item>({ data, next_cursor }: WirePage<Item>, pause: Pause): Promise<string> {
  const items: string[] = []
  for (const item of data) {
    await pause()
    items.push(JSON.stringify(item))
  }
  return `{"data":[${items.join(',')}],"next_cursor":${JSON.stringify(next_cursor)}}`
}

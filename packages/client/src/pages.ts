import { isRecord } from './answer.js'
import type { Query } from './call.js'
import { UnavailableError } from './errors/unavailable-error.js'
import type { CallOptions } from './options.js'
import type { Requester } from './requester.js'
import type { Page } from './wire.js'

/** What every list takes. */
export interface PageQuery {
  /** Items of a page, 1 to 200. Default 50. */
  readonly limit?: number | undefined
  /** `next_cursor` of the page before, with the same filters. */
  readonly cursor?: string | undefined
}

/**
 * A list, newest first, that is asked for page by page as it is walked; making one asks for nothing.
 *
 * @example
 * for await (const policy of client.policies.list()) console.log(policy.name)
 * const { data, next_cursor } = await client.policies.list({ limit: 20 }).page()
 */
export interface Pages<Item> extends AsyncIterable<Item> {
  /** One page: the first, or the one at the `cursor` that the list was asked for with. */
  page(): Promise<Page<Item>>
}

/** @internal */
export function pagesOf<Item>(
  requester: Requester,
  path: string,
  query: Query & PageQuery,
  options: CallOptions | undefined,
): Pages<Item> {
  const page = (cursor: string | undefined): Promise<Page<Item>> =>
    requester
      .send({ method: 'GET', path, query: { ...query, cursor }, options })
      .then((answer) => readPage<Item>(`GET ${path}`, answer, cursor))
  return {
    page: () => page(query.cursor),
    async *[Symbol.asyncIterator]() {
      let cursor = query.cursor
      for (;;) {
        const { data, next_cursor } = await page(cursor)
        yield* data
        if (next_cursor === null) return
        cursor = next_cursor
      }
    },
  }
}

function readPage<Item>(call: string, answer: unknown, cursor: string | undefined): Page<Item> {
  if (isRecord(answer) && Array.isArray(answer.data)) {
    const next = answer.next_cursor
    // A cursor that leads to itself would walk one page for ever.
    if (next === null || (typeof next === 'string' && next !== cursor)) return { data: answer.data, next_cursor: next }
  }
  throw new UnavailableError('bad_answer', `${call}: the answer is not a page`)
}

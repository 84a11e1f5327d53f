import type { ItemOf, PageName } from '@countersign/contract/operations'
import { isRecord } from './answer.js'
import { nameOf } from './call.js'
import type { Endpoint } from './endpoints.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { callOf, type Given } from './operation.js'
import type { Requester } from './requester.js'
import type { Page } from './wire.js'

/** The options of every list. */
export interface PageQuery {
  /** The number of items per page, 1 to 200. Default 50. */
  readonly limit?: number | undefined
  /** The `next_cursor` of the previous page, with the same filters. */
  readonly cursor?: string | undefined
}

/**
 * A list, newest first, that is fetched page by page during iteration; creating it sends nothing.
 *
 * @example
 * for await (const policy of client.policies.list()) console.log(policy.name)
 * const { data, next_cursor } = await client.policies.list({ limit: 20 }).page()
 */
export interface Pages<Item> extends AsyncIterable<Item> {
  /** Returns one page: the first, or the one at the `cursor` that was given to the list. */
  page(): Promise<Page<Item>>
}

/** @internal */
export function pagesOf<Name extends PageName>(
  requester: Requester,
  endpoint: Endpoint<Name>,
  given: Given<Name> & { readonly query: PageQuery },
): Pages<ItemOf<Name>> {
  // A copy, so that the caller can change its query without effect on this list.
  const query = { ...given.query }
  const call = callOf(endpoint, given)
  const first = query.cursor
  const page = (cursor: string | undefined) =>
    requester
      .send({ ...call, query: { ...query, cursor } })
      .then((answer) => readPage<ItemOf<Name>>(nameOf(call), answer, cursor))
  return {
    page: () => page(first),
    async *[Symbol.asyncIterator]() {
      let cursor = first
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
    // A cursor that leads to itself would fetch the same page forever.
    if (next === null || (typeof next === 'string' && next !== cursor)) return { data: answer.data, next_cursor: next }
  }
  throw new UnavailableError('bad_answer', `${call}: the answer is not a page`)
}

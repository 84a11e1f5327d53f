import { z } from 'zod'

/** One page of a list, newest first; `next_cursor` is null on the last page. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    data: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Send it as `cursor` to get the next page; null on the last page.' }),
  })
}

/** One page of a list of such items. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

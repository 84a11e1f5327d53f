import type { Page } from '@countersign/contract'

export interface Everything<Item> {
  readonly items: readonly Item[]
  /** Whether the list ended before the bound. */
  readonly isComplete: boolean
}

/**
 * Reads a list page by page, to its end or to `most` items.
 *
 * @throws ApiError
 */
export async function everyPage<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  most: number,
): Promise<Everything<Item>> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    items.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && items.length < most)
  return { items, isComplete: cursor === undefined }
}

import type { Page } from '@countersign/contract'

export interface Everything<Item> {
  readonly items: readonly Item[]
  /** False when the list has more items than were read. */
  readonly isComplete: boolean
}

/** Reads a list page by page, to its end or until `most` items are read. @throws ApiError */
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

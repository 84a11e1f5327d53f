/** One item to show, or adjacent items to fold together. */
export type Run<Item> = { readonly shown: Item } | { readonly folded: readonly Item[] }

/** Groups adjacent quiet items. The order is kept. */
export function quietRuns<Item>(items: readonly Item[], isQuiet: (item: Item) => boolean): Run<Item>[] {
  const runs: Run<Item>[] = []
  let folded: Item[] = []
  for (const item of items) {
    if (isQuiet(item)) {
      if (folded.length === 0) runs.push({ folded })
      folded.push(item)
    } else {
      folded = []
      runs.push({ shown: item })
    }
  }
  return runs
}

/** Something to be shown, or neighbours that can be folded together. */
export type Run<Item> = { readonly shown: Item } | { readonly folded: readonly Item[] }

/** Puts neighbours that are quiet together. The order stays. */
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

/**
 * Returns the first items that fit, and how many are left out.
 *
 * @param bytes the most that the JSON of the first items may take together, in UTF-8
 */
export function firstWithin<T>(items: readonly T[], bytes: number): { readonly first: T[]; readonly omitted: number } {
  let room = bytes
  const end = items.findIndex((item) => {
    room -= Buffer.byteLength(JSON.stringify(item)) + 1
    return room < 0
  })
  const first = end === -1 ? [...items] : items.slice(0, end)
  return { first, omitted: items.length - first.length }
}

/**
 * The progress of a walk over an index that orders by time alone. Documents of one instant have no order there, so the
 * ids of those that were read are kept.
 */
export interface Passed {
  readonly ms: number
  readonly ids: readonly string[]
}

export const NOTHING_PASSED: Passed = { ms: Number.MIN_SAFE_INTEGER, ids: [] }

/** Returns the conditions on the time and the `_id` for the rest of a walk up to a time, inclusive. */
export function leftOf({ ms, ids }: Passed, toMs: number) {
  return { time: { $gte: ms, $lte: toMs }, _id: { $nin: [...ids] } }
}

/** Returns the progress after one more page. */
export function passedWith<T extends { readonly _id: string }>(
  before: Passed,
  page: readonly T[],
  timeOf: (one: T) => number,
): Passed {
  const last = page.at(-1)
  if (last === undefined) return before
  const ms = timeOf(last)
  const ids = page.filter((one) => timeOf(one) === ms).map(({ _id }) => _id)
  return { ms, ids: ms === before.ms ? [...before.ids, ...ids] : ids }
}

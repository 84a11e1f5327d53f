import type { Positions } from '../ports/store/feed.js'

/** Whether `positions` are at or past `other` in every log. */
export function reaches(positions: Positions, other: Positions): boolean {
  for (const log in other) if ((positions[log] ?? 0) < (other[log] as number)) return false
  return true
}

/** Returns the later of the two positions in each log. */
export function furthest(one: Positions, other: Positions): Positions {
  if (reaches(one, other)) return one
  const result: Record<string, number> = { ...one }
  for (const log in other) result[log] = Math.max(result[log] ?? 0, other[log] as number)
  return result
}

/** Returns how many entries lie between the two. */
export function entriesBetween(from: Positions, to: Positions): number {
  let entries = 0
  for (const log in to) entries += (to[log] as number) - (from[log] ?? 0)
  return entries
}

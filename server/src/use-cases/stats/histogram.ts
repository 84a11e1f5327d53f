/**
 * Counts latencies in buckets. Each bucket ends at most 5 percent, or one microsecond, above the end of the one before.
 * So a quantile that is read from them is at most 5 percent above the true one, and never below it. Adding histograms
 * is exact.
 */
import type { Latency } from '@countersign/contract'

/** The number of latencies per bucket number. Empty buckets are absent. */
export type Histogram = Readonly<Record<string, number>>

const LONGEST_US = 3_600_000_000

/**
 * The last microsecond of each bucket. Stored histograms refer to buckets by their index here, so this never changes.
 */
const ENDS_US: readonly number[] = bucketEnds()

function bucketEnds(): number[] {
  const ends: number[] = []
  for (let end = 1; end < LONGEST_US; end = Math.max(end + 1, Math.floor((end * 105) / 100))) ends.push(end)
  return [...ends, LONGEST_US]
}

/** Converts to the unit of histograms: whole microseconds, at least one. */
export function toMicroseconds(milliseconds: number): number {
  return Math.min(LONGEST_US, Math.max(1, Math.round(milliseconds * 1000)))
}

/** Returns the number of the bucket of a latency: the first bucket that does not end before it. */
export function bucketOf(microseconds: number): number {
  let [low, high] = [0, ENDS_US.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ENDS_US[middle] as number) < microseconds) low = middle + 1
    else high = middle
  }
  return low
}

export function addHistogram(sum: Record<string, number>, more: Histogram): void {
  for (const [bucket, count] of Object.entries(more)) sum[bucket] = (sum[bucket] ?? 0) + count
}

/** Returns null when there is no latency. @param maxUs the largest latency, which is known exactly */
export function latencyOf(histogram: Histogram, maxUs: number): Latency | null {
  const buckets = Object.entries(histogram).map(([bucket, count]) => [Number(bucket), count] as const)
  buckets.sort(([one], [other]) => one - other)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return null
  const quantile = (percent: number): number => {
    const rank = Math.ceil((total * percent) / 100)
    let seen = 0
    for (const [bucket, count] of buckets) {
      seen += count
      if (seen >= rank) return Math.min(maxUs, ENDS_US[bucket] ?? LONGEST_US) / 1000
    }
    return maxUs / 1000
  }
  return { p50: quantile(50), p90: quantile(90), p99: quantile(99), max: maxUs / 1000 }
}

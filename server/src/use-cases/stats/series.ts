/** The place of a count: its series and its bucket. Buckets start at whole minutes, hours and days of UTC. */
import { hash } from 'node:crypto'
import type { StatsGroup, StatsInterval } from '@countersign/contract'

/** The groups that are counted separately. `total` counts every decision, `budget` the money. */
export const COUNT_GROUPS = ['total', 'effect', 'action', 'agent', 'policy', 'budget'] as const
export type CountGroup = StatsGroup | 'total' | 'budget'

export const INTERVAL_MS: Readonly<Record<StatsInterval, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

export function seriesOf(interval: StatsInterval, group: CountGroup): string {
  return `${interval}/${group}`
}

/** Returns the start of the bucket that contains a time. */
export function startOf(interval: StatsInterval, timeMs: number): number {
  return Math.floor(timeMs / INTERVAL_MS[interval]) * INTERVAL_MS[interval]
}

/**
 * The value part of a count's id: keeps the values of a group apart from each other, and from counts without a value.
 */
export type CountName = 'none' | 'rest' | `=${string}`

/** Ids keep this many bytes of a value readable. An id has at most 600 bytes, and values come from agents. */
const READABLE_BYTES = 400

export function nameOf(value: string | null): CountName {
  if (value === null) return 'none'
  if (Buffer.byteLength(value) <= READABLE_BYTES) return `=${value}`
  return `=sha256:${hash('sha256', value, 'base64url')}`
}

export function countId(series: string, startsMs: number, name: CountName): string {
  return `${series}/${startsMs}/${name}`
}

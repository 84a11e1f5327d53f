/** Where a count belongs: the series and the bucket. Buckets start at whole minutes, hours and days of UTC. */
import { hash } from 'node:crypto'
import type { StatsGroup, StatsInterval } from '@countersign/contract'

/** What is counted apart from each other. `total` counts every decision, `budget` the money. */
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

/** The start of the bucket that a time is in. */
export function startOf(interval: StatsInterval, timeMs: number): number {
  return Math.floor(timeMs / INTERVAL_MS[interval]) * INTERVAL_MS[interval]
}

/** Of the id of a count: the values of a group apart from each other, and from what has none. */
export type CountName = 'none' | 'rest' | `=${string}`

/** So much of a value is readable in an id. Ids have at most 600 bytes, and values come from agents. */
const READABLE_BYTES = 400

export function nameOf(value: string | null): CountName {
  if (value === null) return 'none'
  if (Buffer.byteLength(value) <= READABLE_BYTES) return `=${value}`
  return `=sha256:${hash('sha256', value, 'base64url')}`
}

export function countId(series: string, startsMs: number, name: CountName): string {
  return `${series}/${startsMs}/${name}`
}

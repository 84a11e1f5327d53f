import {
  EFFECTS,
  fromMicro,
  LIMITS,
  type Stats,
  type StatsBucket,
  type StatsBudget,
  type StatsGroup,
  type StatsInterval,
} from '@countersign/contract'
import { type Caller, hasScope, maySpeakFor } from '../../caller.js'
import { invalid } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { FeedStore } from '../../ports/store/feed.js'
import { type DecisionCount, type MoneyCount, STATISTICS_READER } from './counts.js'
import { addHistogram, latencyOf } from './histogram.js'
import { readCounts } from './read-counts.js'
import { type CountGroup, INTERVAL_MS, seriesOf, startOf } from './series.js'

export interface GetStatsDeps {
  readonly clock: Clock
  readonly store: Pick<FeedStore, 'counts' | 'audit' | 'readers'>
}

export interface StatsQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly interval?: StatsInterval | undefined
  readonly group?: StatsGroup | undefined
}

interface Span {
  readonly interval: StatsInterval
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
}

/** The number of buckets in the default time span. */
const BUCKETS: Readonly<Record<StatsInterval, number>> = { minute: 60, hour: 24, day: 30 }
/** The rows of a group are made from at most this many counts. */
const MAX_COUNTS = 150_000
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Returns the statistics of a time span. The cost depends on the number of buckets and of values in them, not on the
 * number of decisions.
 *
 * @param pause awaited between two pieces of the work
 * @throws DomainError validation_failed, StoreUnavailableError
 *
 * Source: docs/statistics.md
 */
export async function getStats(
  deps: GetStatsDeps,
  caller: Caller,
  query: StatsQuery,
  pause: () => Promise<void>,
): Promise<Stats> {
  const span = spanOf(query, deps.clock.now().getTime())
  const { group } = query
  const isBound = caller.key.agents !== null
  if (isBound && group !== undefined && group !== 'agent')
    throw invalid([{ pointer: '/group', detail: 'must be `agent`, or absent: the key is bound to agents' }])
  const reading: Reading = { deps, caller, span, pause, lacksAgents: false }
  // Read before the counts, which may then include some of these entries.
  const uncounted = await uncountedEntries(deps)
  const rows = await readRows(reading, group ?? null)
  const total = newSum()
  for (const row of rows) addSum(total, row.sum)
  return {
    from: new Date(span.fromMs).toISOString(),
    to: new Date(span.toMs).toISOString(),
    interval: span.interval,
    group: group ?? null,
    total: viewSum(total),
    data: rows.map(viewRow),
    budgets: isBound || !hasScope(caller, 'budgets:read') ? [] : await readBudgets(reading),
    incomplete: uncounted > 0 || reading.lacksAgents,
    // This number covers all agents.
    uncounted_entries: isBound ? null : uncounted,
  }
}

/** @throws DomainError validation_failed */
function spanOf({ from, to, interval = 'hour' }: StatsQuery, nowMs: number): Span {
  const lengthMs = INTERVAL_MS[interval]
  const toMs = to === undefined ? startOf(interval, nowMs) + lengthMs : startOf(interval, Date.parse(to) + lengthMs - 1)
  const fromMs = from === undefined ? toMs - BUCKETS[interval] * lengthMs : startOf(interval, Date.parse(from))
  if (fromMs >= toMs || (from !== undefined && to !== undefined && from >= to))
    throw invalid([{ pointer: '/from', detail: 'must be before `to`, which is now by default' }])
  const buckets = (toMs - fromMs) / lengthMs
  if (buckets > LIMITS.statsBuckets)
    throw invalid([
      {
        pointer: '/from',
        detail: `is ${buckets} intervals before \`to\`; at most ${LIMITS.statsBuckets} are allowed`,
      },
    ])
  if (fromMs < FIRST_MS || toMs > LAST_MS)
    throw invalid([{ pointer: '/to', detail: 'is where the calendar of timestamps ends' }])
  return { interval, fromMs, toMs }
}

async function uncountedEntries({ store }: GetStatsDeps): Promise<number> {
  const positions = (await store.readers.get(STATISTICS_READER))?.positions ?? {}
  const ends = await store.audit.listLogs()
  return ends.reduce((sum, { log, next_index }) => sum + Math.max(0, next_index - (positions[log] ?? 0)), 0)
}

interface Reading {
  readonly deps: GetStatsDeps
  readonly caller: Caller
  readonly span: Span
  readonly pause: () => Promise<void>
  /** Whether agents were left out that a bound key might be allowed to see. */
  lacksAgents: boolean
}

interface Sum {
  decisions: number
  readonly effects: Record<(typeof EFFECTS)[number], number>
  readonly histogram: Record<string, number>
  maxUs: number
}

interface Row {
  readonly startsMs: number
  /** Null for all other values together. */
  readonly value: string | null
  readonly sum: Sum
}

async function readRows(reading: Reading, group: StatsGroup | null): Promise<readonly Row[]> {
  if (group !== null) return rowsByValue(reading, group, await chosenValues(reading, group))
  const rows = new Map<number, Row>()
  // A key that is bound to agents sees the sum of its agents.
  const series = reading.caller.key.agents === null ? 'total' : 'agent'
  for await (const { startsMs, count } of decisionCounts(reading, series))
    addSum(rowIn(rows, startsMs, { startsMs, value: null }), sumOf(count))
  return [...rows.values()]
}

/** Returns the values that get their own rows: those with the most decisions in the time span, highest first. */
async function chosenValues(reading: Reading, group: StatsGroup): Promise<readonly string[]> {
  const decisions = new Map<string, number>()
  for await (const { count } of decisionCounts(reading, group))
    if (count.value !== null) decisions.set(count.value, (decisions.get(count.value) ?? 0) + count.decisions)
  const { fromMs, toMs, interval } = reading.span
  const buckets = (toMs - fromMs) / INTERVAL_MS[interval]
  const values = Math.min(LIMITS.statsValues, Math.floor(LIMITS.statsRows / buckets))
  return [...decisions]
    .sort(([value, one], [otherValue, other]) => other - one || (value < otherValue ? -1 : 1))
    .slice(0, values)
    .map(([value]) => value)
}

async function rowsByValue(reading: Reading, group: StatsGroup, chosen: readonly string[]): Promise<readonly Row[]> {
  const places = new Map(chosen.map((value, place) => [value, place]))
  const rows = new Map<number, Map<number, Row>>()
  for await (const { startsMs, count } of decisionCounts(reading, group)) {
    const place = places.get(count.value ?? '') ?? chosen.length
    const bucket = rows.get(startsMs) ?? new Map<number, Row>()
    rows.set(startsMs, bucket)
    addSum(rowIn(bucket, place, { startsMs, value: chosen[place] ?? null }), sumOf(count))
  }
  return [...rows.values()].flatMap((bucket) => [...bucket].sort(([one], [other]) => one - other).map(([, row]) => row))
}

/** @throws DomainError validation_failed when there are too many */
async function* decisionCounts(
  reading: Reading,
  group: CountGroup,
): AsyncGenerator<{ readonly startsMs: number; readonly count: DecisionCount }> {
  const { deps, caller, pause } = reading
  const { interval, fromMs, toMs } = reading.span
  const filter = { series: seriesOf(interval, group), from_ms: fromMs, to_ms: toMs }
  const isVisible = visibilityOf(caller)
  let counts = 0
  for await (const page of readCounts(deps.store, filter)) {
    counts += page.length
    if (counts > MAX_COUNTS)
      throw invalid([
        { pointer: '/from', detail: 'covers too many values: use a shorter time span or a longer interval' },
      ])
    for (const { starts_ms, document } of page) {
      const count = document as unknown as DecisionCount
      if (isVisible(count)) yield { startsMs: starts_ms, count }
      else reading.lacksAgents ||= count.value === null
    }
    await pause()
  }
}

/** A key that is bound to agents sees only the counts of its agents, and no count that combines several agents. */
function visibilityOf(caller: Caller): (count: DecisionCount) => boolean {
  if (caller.key.agents === null) return () => true
  const known = new Map<string, boolean>()
  return ({ value }) => {
    if (value === null) return false
    const isVisible = known.get(value) ?? maySpeakFor(caller, value)
    known.set(value, isVisible)
    return isVisible
  }
}

async function readBudgets({
  deps,
  span: { interval, fromMs, toMs },
  pause,
}: Reading): Promise<readonly StatsBudget[]> {
  const sums = new Map<
    string,
    { policy_id: string; unit: string; decided: bigint; settled: bigint; released: bigint }
  >()
  const filter = { series: seriesOf(interval, 'budget'), from_ms: fromMs, to_ms: toMs }
  for await (const page of readCounts(deps.store, filter)) {
    for (const { document } of page) {
      const { policy_id, unit, decided, settled, released } = document as unknown as MoneyCount
      const key = JSON.stringify([policy_id, unit.toLowerCase()])
      const sum = sums.get(key) ?? { policy_id, unit, decided: 0n, settled: 0n, released: 0n }
      sums.set(key, {
        policy_id,
        unit,
        decided: sum.decided + BigInt(decided),
        settled: sum.settled + BigInt(settled),
        released: sum.released + BigInt(released),
      })
    }
    await pause()
  }
  return [...sums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { policy_id, unit, decided, settled, released }]) => ({
      policy_id,
      unit,
      decided: fromMicro(decided),
      settled: fromMicro(settled),
      released: fromMicro(released),
    }))
}

function newSum(): Sum {
  return { decisions: 0, effects: { allow: 0, deny: 0, review: 0, log: 0 }, histogram: {}, maxUs: 0 }
}

function sumOf({ decisions, effects, histogram, max_us }: DecisionCount) {
  return { decisions, effects, histogram, maxUs: max_us }
}

function addSum(sum: Sum, more: ReturnType<typeof sumOf>): void {
  sum.decisions += more.decisions
  for (const effect of EFFECTS) sum.effects[effect] += more.effects[effect] ?? 0
  addHistogram(sum.histogram, more.histogram)
  sum.maxUs = Math.max(sum.maxUs, more.maxUs)
}

/** Returns the sum of the row with this key, and adds the row if it is missing. */
function rowIn(rows: Map<number, Row>, key: number, row: Omit<Row, 'sum'>): Sum {
  const known = rows.get(key)
  if (known !== undefined) return known.sum
  const sum = newSum()
  rows.set(key, { ...row, sum })
  return sum
}

function viewRow({ startsMs, value, sum }: Row): StatsBucket {
  return { starts_at: new Date(startsMs).toISOString(), value, ...viewSum(sum) }
}

function viewSum({ decisions, effects, histogram, maxUs }: Sum): Stats['total'] {
  return { decisions, effects, latency_ms: latencyOf(histogram, maxUs) }
}

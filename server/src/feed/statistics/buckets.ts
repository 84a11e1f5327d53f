/**
 * Keeps the counts that entries change in memory between two saves. Buckets that changed recently stay; others are read
 * from the store when an entry needs them. An entry that a count already includes is not counted again, no matter which
 * part of a save became durable before a crash.
 */
import {
  type AuditEntry,
  type JsonObject,
  STATS_GROUPS,
  STATS_INTERVALS,
  type StatsGroup,
  type StatsInterval,
} from '@countersign/contract'
import type { FeedStore, Positions, StoredCount } from '../../ports/store/feed.js'
import type { CountedUpTo, DecisionCount, MoneyCount } from '../../use-cases/stats/counts.js'
import { bucketOf } from '../../use-cases/stats/histogram.js'
import { readCounts } from '../../use-cases/stats/read-counts.js'
import {
  COUNT_GROUPS,
  type CountGroup,
  type CountName,
  countId,
  nameOf,
  seriesOf,
  startOf,
} from '../../use-cases/stats/series.js'
import { type CountedDecision, type CountedMoney, decisionOf, moneyOf } from './additions.js'

/** Agents can invent ids and actions: beyond this many values of a bucket, all others are counted together. */
const MAX_VALUES = 1000
/** With more counts than this, the least recently used buckets are dropped. The current ones always fit. */
const MAX_KEPT = 20_000

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object ? Mutable<T[K]> : T[K] }
/** An object with the places as members would reserve room for all places below the largest. */
type Decisions = Mutable<Omit<DecisionCount, 'histogram'>> & { readonly histogram: Map<number, number> }
type Money = Mutable<MoneyCount>

interface Count {
  readonly name: CountName
  readonly bucket: Bucket
  readonly document: Decisions | Money
  isStored: boolean
  isChanged: boolean
}

interface Bucket {
  readonly series: string
  readonly startsMs: number
  readonly counts: Map<CountName, Count>
  /** How many of the counts have a named value. */
  named: number
  /** The sequence number of the entry that used it last. */
  usedAt: number
}

const SERIES = Object.fromEntries(
  STATS_INTERVALS.map((interval) => [
    interval,
    Object.fromEntries(COUNT_GROUPS.map((group) => [group, seriesOf(interval, group)])),
  ]),
) as Readonly<Record<StatsInterval, Readonly<Record<CountGroup, string>>>>

interface BucketsDeps {
  readonly store: Pick<FeedStore, 'counts'>
  /** Returns the start of the first bucket that is kept. */
  readonly keptFrom: (interval: StatsInterval) => number
  /** Saves what has changed so far, or throws. */
  readonly save: () => Promise<void>
}

/** A decision with what is the same in each of its buckets. */
interface DecisionToCount extends Pick<CountedDecision, 'effect' | 'latencyUs'> {
  /** The place of its latency in a histogram. */
  readonly place: number | null
  readonly values: readonly {
    readonly group: 'total' | StatsGroup
    readonly value: string | null
    readonly name: CountName
  }[]
}

export class Buckets {
  /** By series, then by start. */
  readonly #buckets = new Map<string, Map<number, Bucket>>()
  #changed: Count[] = []
  #entries = 0

  private constructor(
    private readonly deps: BucketsDeps,
    /** The positions of the last save. */
    private positions: Positions,
    private newestMs: number,
    /** Series with counts of newer entries: a save ended before it wrote the positions. */
    private readonly ahead: ReadonlySet<string>,
  ) {}

  /**
   * @param positions of the last save: entries after them that a count includes are not counted twice
   * @param newestMs the time of the newest entry before them; null for none
   */
  static async open(deps: BucketsDeps, positions: Positions, newestMs: number | null): Promise<Buckets> {
    const ahead = new Set<string>()
    for (const interval of STATS_INTERVALS)
      for (const group of COUNT_GROUPS) {
        const series = SERIES[interval][group]
        const from_ms = newestMs === null ? Number.MIN_SAFE_INTEGER : startOf(interval, newestMs) + 1
        const found = await deps.store.counts.list({ series, from_ms, to_ms: Number.MAX_SAFE_INTEGER }, 1)
        if (found.length > 0) ahead.add(series)
      }
    return new Buckets(deps, positions, newestMs ?? Number.MIN_SAFE_INTEGER, ahead)
  }

  /** The time of the newest entry, in milliseconds. */
  get newest(): number {
    return this.newestMs
  }

  /** How many counts have changed since the last save. */
  get changes(): number {
    return this.#changed.length
  }

  /** Counts an entry in each of its buckets. */
  async add(entry: AuditEntry): Promise<void> {
    this.#entries += 1
    const atMs = Date.parse(entry.at)
    const counted = decisionOf(entry)
    const decision = counted && toCount(counted)
    const money = moneyOf(entry)
    for (const interval of STATS_INTERVALS) {
      const startsMs = startOf(interval, atMs)
      if (startsMs < this.deps.keptFrom(interval)) continue
      if (decision !== null)
        for (const { group, value, name } of decision.values) {
          // Almost all are known, and a promise for each would cost more than counting it.
          const found = this.#known(SERIES[interval][group], startsMs)?.counts.get(name)
          const count = found ?? (await this.#newCount(SERIES[interval][group], startsMs, name, value))
          if (this.#isFirst(entry, count)) addTo(count.document as Decisions, decision)
        }
      for (const one of money) await this.#addMoney(entry, one, interval, startsMs)
    }
    this.newestMs = Math.max(this.newestMs, atMs)
  }

  async #addMoney(entry: AuditEntry, money: CountedMoney, interval: StatsInterval, startsMs: number) {
    const { policyId, unit } = money
    const series = SERIES[interval].budget
    const bucket = this.#known(series, startsMs) ?? (await this.#open(series, startsMs))
    const name = nameOf(JSON.stringify([policyId, unit.toLowerCase()]))
    const count =
      bucket.counts.get(name) ??
      addCount(bucket, name, { policy_id: policyId, unit, decided: '0', settled: '0', released: '0', counted: {} })
    if (!this.#isFirst(entry, count)) return
    const document = count.document as Money
    document.unit = unit
    for (const member of ['decided', 'settled', 'released'] as const)
      document[member] = String(BigInt(document[member]) + money[member])
  }

  /** Returns false when the count includes the entry already. */
  #isFirst({ log, index }: AuditEntry, count: Count): boolean {
    const { counted } = count.document
    if ((counted[log] ?? 0) > index) return false
    counted[log] = index + 1
    if (!count.isChanged) this.#changed.push(count)
    count.isChanged = true
    return true
  }

  async #newCount(series: string, startsMs: number, name: CountName, value: string | null): Promise<Count> {
    const bucket = this.#known(series, startsMs) ?? (await this.#open(series, startsMs))
    const known = bucket.counts.get(name)
    if (known !== undefined) return known
    if (value === null || bucket.named < MAX_VALUES) return addCount(bucket, name, noDecisions(value))
    const rest = bucket.counts.get('rest')
    if (rest !== undefined) return rest
    // The set of named values must be durable before other values count as the rest, so that a repeated batch counts
    // the same way.
    if (![...bucket.counts.values()].every(({ isStored }) => isStored)) await this.deps.save()
    return addCount(bucket, 'rest', noDecisions(null))
  }

  #known(series: string, startsMs: number): Bucket | undefined {
    const known = this.#buckets.get(series)?.get(startsMs)
    if (known !== undefined) known.usedAt = this.#entries
    return known
  }

  async #open(series: string, startsMs: number): Promise<Bucket> {
    const bucket: Bucket = { series, startsMs, counts: new Map(), named: 0, usedAt: this.#entries }
    if (this.ahead.has(series) || startsMs <= this.newestMs) await this.#load(bucket)
    const ofSeries = this.#buckets.get(series)
    if (ofSeries === undefined) this.#buckets.set(series, new Map([[startsMs, bucket]]))
    else ofSeries.set(startsMs, bucket)
    return bucket
  }

  async #load(bucket: Bucket): Promise<void> {
    const { series, startsMs } = bucket
    const beforeName = countId(series, startsMs, '=').length - 1
    const filter = { series, from_ms: startsMs, to_ms: startsMs + 1 }
    for await (const page of readCounts(this.deps.store, filter))
      for (const { id, document } of page) {
        const known = ofStored(document as unknown as DecisionCount | MoneyCount)
        known.counted = behind(known.counted, this.positions)
        addCount(bucket, id.slice(beforeName) as CountName, known).isStored = true
      }
  }

  /** Returns the counts that have changed since the last save, in their present state. */
  changed(): readonly StoredCount[] {
    return this.#changed.map(({ name, bucket: { series, startsMs }, document }) => ({
      id: countId(series, startsMs, name),
      series,
      starts_ms: startsMs,
      document: toStored(document),
    }))
  }

  /** Call this when the result of `changed` and the positions are durable. */
  saved(positions: Positions): void {
    for (const count of this.#changed) {
      count.isStored = true
      count.isChanged = false
      count.document.counted = behind(count.document.counted, positions)
    }
    this.positions = positions
    this.#changed = []
    this.#shrink()
  }

  /** Runs while no count has unsaved changes. The entry that is being counted keeps its buckets. */
  #shrink(): void {
    const all = [...this.#buckets.values()].flatMap((ofSeries) => [...ofSeries.values()])
    let size = all.reduce((sum, { counts }) => sum + counts.size, 0)
    if (size <= MAX_KEPT) return
    for (const { series, startsMs, counts, usedAt } of all.sort((a, b) => a.usedAt - b.usedAt)) {
      if (size <= MAX_KEPT / 2 || usedAt === this.#entries) return
      size -= counts.size
      this.#buckets.get(series)?.delete(startsMs)
    }
  }
}

function toCount({ effect, latencyUs, values }: CountedDecision): DecisionToCount {
  return {
    effect,
    latencyUs,
    place: latencyUs === null ? null : bucketOf(latencyUs),
    values: (['total', ...STATS_GROUPS] as const).map((group) => {
      const value = group === 'total' ? null : values[group]
      return { group, value, name: nameOf(value) }
    }),
  }
}

function addCount(bucket: Bucket, name: CountName, document: Decisions | Money): Count {
  const count = { name, bucket, document, isStored: false, isChanged: false }
  bucket.counts.set(name, count)
  if (name.startsWith('=')) bucket.named += 1
  return count
}

function noDecisions(value: string | null): Decisions {
  return { value, decisions: 0, effects: {}, histogram: new Map(), max_us: 0, counted: {} }
}

function addTo(document: Decisions, { effect, latencyUs, place }: DecisionToCount): void {
  document.decisions += 1
  document.effects[effect] = (document.effects[effect] ?? 0) + 1
  if (latencyUs === null || place === null) return
  document.histogram.set(place, (document.histogram.get(place) ?? 0) + 1)
  document.max_us = Math.max(document.max_us, latencyUs)
}

function toStored(document: Decisions | Money): JsonObject {
  if (!('histogram' in document)) return { ...document }
  return { ...document, histogram: Object.fromEntries(document.histogram) }
}

function ofStored(stored: DecisionCount | MoneyCount): Decisions | Money {
  if (!('histogram' in stored)) return { ...stored }
  const histogram = new Map(Object.entries(stored.histogram).map(([place, count]) => [Number(place), count]))
  return { ...stored, effects: { ...stored.effects }, histogram }
}

/** Keeps only the logs that were counted further than these positions. */
function behind(counted: CountedUpTo, positions: Positions): Record<string, number> {
  const further: Record<string, number> = {}
  for (const [log, index] of Object.entries(counted)) if (index > (positions[log] ?? 0)) further[log] = index
  return further
}

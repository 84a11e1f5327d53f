/**
 * Counts decisions and money as a reader of the audit log. What is durable of it is always right: counts and positions are
 * saved together, and a crash repeats entries that no count takes twice.
 */
import { setImmediate } from 'node:timers/promises'
import { KeyedMutex } from '@countersign/concurrency'
import { type AuditEntry, STATS_INTERVALS, type StatsInterval } from '@countersign/contract'
import type { FeedReads, FeedWrites, Positions } from '@countersign/store-port/feed'
import type { Clock } from '../../ports/clock.js'
import { STATISTICS_READER } from '../../use-cases/stats/counts.js'
import { COUNT_GROUPS, INTERVAL_MS, seriesOf, startOf } from '../../use-cases/stats/series.js'
import { behind, positionsAtEnd } from '../log-reader.js'
import { Reader, type ReaderDeps } from '../reader.js'
import { Buckets } from './buckets.js'

export interface StatisticsDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedReads, 'listCounts'> & Pick<FeedWrites, 'removeCounts'>
  readonly clock: Clock
}

const BATCH = 250
const SAVE_EVERY_MS = 250
const SAVE_EVERY_ENTRIES = 2000
/** One save is written in one piece, and handed from thread to thread. */
const SAVE_EVERY_CHANGES = 1000
/** A turn, or a call that waits for the counts, is at work for so long. */
const SHARE_MS = 2000
const REMOVE_EVERY_MS = 60_000

const DAY_MS = INTERVAL_MS.day
/** How long counts are kept; null: for good. */
const KEPT_MS: Readonly<Record<StatsInterval, number | null>> = { minute: 7 * DAY_MS, hour: 400 * DAY_MS, day: null }
const ENDING = STATS_INTERVALS.filter((interval) => KEPT_MS[interval] !== null).flatMap((interval) =>
  COUNT_GROUPS.map((group) => ({ interval, series: seriesOf(interval, group) })),
)

/** Another process has the reader now. */
class ReaderLostError extends Error {}

/** What this process has counted since it took the reader. */
interface Counting {
  readonly fence: number
  readonly buckets: Buckets
  /** Behind what is counted. */
  positions: Positions
  /** Entries that are counted and not saved. */
  unsaved: number
}

export class Statistics {
  readonly #reader: Reader
  readonly #mutex = new KeyedMutex()
  #counting: Counting | null = null
  #savedAtMs = Number.NEGATIVE_INFINITY
  #removal = { next: 0, atMs: Number.NEGATIVE_INFINITY }

  constructor(private readonly deps: StatisticsDeps) {
    this.#reader = new Reader(deps, STATISTICS_READER)
  }

  /** Reads on to the end of the logs, or does a share of it. What was counted last may be saved by a later turn. */
  turn(): Promise<void> {
    return this.#exclusively('turn', async () => {
      await this.#readOn(null)
      const counting = this.#counting
      if (counting === null) return
      if (this.deps.monotonicMs() - this.#savedAtMs >= SAVE_EVERY_MS) await this.#save(counting)
      await this.#removeOld()
    })
  }

  /** Saves all that is durable now, unless that takes long. Another process that has the reader does it by itself. */
  catchUp(): Promise<void> {
    return this.#exclusively('catch up', async () => {
      await this.#readOn(await positionsAtEnd(this.deps.store))
      if (this.#counting !== null) await this.#save(this.#counting)
    })
  }

  /** Whatever fails: what is stored counts, and memory is made anew from it. */
  #exclusively(name: string, work: () => Promise<void>): Promise<void> {
    return this.#mutex.join(name, () =>
      this.#mutex.run('all', async () => {
        try {
          await work()
        } catch (error) {
          this.#counting = null
          if (!(error instanceof ReaderLostError)) throw error
        }
      }),
    )
  }

  /** @param ends where to stop; null for the end of the logs, which moves */
  async #readOn(ends: Positions | null): Promise<void> {
    const untilMs = this.deps.monotonicMs() + SHARE_MS
    for (let counting = await this.#hold(); counting !== null; counting = await this.#hold()) {
      if (ends !== null && isAt(counting.positions, ends)) return
      const { entries, positions } = await this.#reader.read(BATCH, counting.positions)
      for (const entry of entries) await this.#count(counting, entry)
      counting.positions = positions
      if (entries.length === 0 || this.deps.monotonicMs() > untilMs) return
      // Others in this thread get their turn.
      await setImmediate()
    }
  }

  async #count(counting: Counting, entry: AuditEntry): Promise<void> {
    await counting.buckets.add(entry)
    counting.positions = behind(counting.positions, entry)
    counting.unsaved += 1
    if (counting.unsaved >= SAVE_EVERY_ENTRIES || counting.buckets.changes >= SAVE_EVERY_CHANGES)
      await this.#save(counting)
  }

  /** What this process counts; null while another one has the reader. */
  async #hold(): Promise<Counting | null> {
    const held = await this.#reader.hold()
    if (held === null || held.fence !== this.#counting?.fence) this.#counting = null
    if (held === null || this.#counting !== null) return this.#counting
    const positions = held.positions ?? {}
    const { newest_ms: newestMs } = held.state
    const { store } = this.deps
    const buckets = await Buckets.open(
      {
        store,
        keptFrom: (interval) => this.#keptFrom(interval),
        save: () => (this.#counting === null ? Promise.resolve() : this.#save(this.#counting)),
      },
      positions,
      typeof newestMs === 'number' ? newestMs : null,
    )
    this.#counting = { fence: held.fence, buckets, positions, unsaved: 0 }
    return this.#counting
  }

  /** @throws ReaderLostError */
  async #save(counting: Counting): Promise<void> {
    if (counting.unsaved === 0 && counting.buckets.changes === 0) return
    const { buckets, positions } = counting
    const isSaved = await this.#reader.save({
      positions,
      counts: buckets.changed(),
      state: { newest_ms: buckets.newest },
    })
    if (!isSaved) throw new ReaderLostError('Another process has the reader.')
    buckets.saved(positions)
    counting.unsaved = 0
    this.#savedAtMs = this.deps.monotonicMs()
  }

  /** A bounded part of what is too old; the series one after the other. */
  async #removeOld(): Promise<void> {
    const nowMs = this.deps.monotonicMs()
    const ending = ENDING[this.#removal.next]
    if (ending === undefined || nowMs < this.#removal.atMs) return
    if ((await this.deps.store.removeCounts(ending.series, this.#keptFrom(ending.interval))) > 0) return
    const next = (this.#removal.next + 1) % ENDING.length
    this.#removal = { next, atMs: next === 0 ? nowMs + REMOVE_EVERY_MS : nowMs }
  }

  #keptFrom(interval: StatsInterval): number {
    const keptMs = KEPT_MS[interval]
    if (keptMs === null) return Number.NEGATIVE_INFINITY
    return startOf(interval, this.deps.clock.now().getTime() - keptMs)
  }
}

function isAt(positions: Positions, ends: Positions): boolean {
  return Object.entries(ends).every(([log, index]) => (positions[log] ?? 0) >= index)
}

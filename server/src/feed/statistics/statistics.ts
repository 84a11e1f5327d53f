/**
 * Counts decisions and money, as a reader of the audit log. Durable counts are always right: each count names the entries
 * that it includes, so it includes none twice that a crash repeats.
 */
import { STATS_INTERVALS, type StatsInterval } from '@countersign/contract'
import type { Clock } from '../../ports/clock.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'
import { behind } from '../../use-cases/audit/log-reader.js'
import { STATISTICS_READER } from '../../use-cases/stats/counts.js'
import { COUNT_GROUPS, INTERVAL_MS, seriesOf, startOf } from '../../use-cases/stats/series.js'
import { KeptWork } from '../kept-work.js'
import type { Held, ReaderDeps } from '../reader.js'
import { Buckets } from './buckets.js'

export interface StatisticsDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedStore, 'counts'>
  readonly clock: Clock
  /** How often a turn saves what it has counted. Who reads the counts here lets `catchUp` save them first. */
  readonly saveEveryMs?: number
}

const BATCH = 250
/** Other processes see the counts with each save. */
const SAVE_EVERY_MS = 250
const SAVE_EVERY_ENTRIES = 20_000
const SAVE_EVERY_CHANGES = 16_000
/** A part of a save is written in one piece, and handed from thread to thread. */
const SAVED_TOGETHER = 1000
const REMOVE_EVERY_MS = 60_000

const DAY_MS = INTERVAL_MS.day
/** How long counts are kept; null: forever. */
const KEPT_MS: Readonly<Record<StatsInterval, number | null>> = { minute: 7 * DAY_MS, hour: 400 * DAY_MS, day: null }
const ENDING = STATS_INTERVALS.filter((interval) => KEPT_MS[interval] !== null).flatMap((interval) =>
  COUNT_GROUPS.map((group) => ({ interval, series: seriesOf(interval, group) })),
)

/** The counting of this process since it took the reader. */
interface Counting {
  readonly fence: number
  readonly buckets: Buckets
  /** The positions after everything counted. */
  positions: Positions
  /** How many entries are counted but not saved. */
  unsaved: number
}

export class Statistics extends KeptWork<StatisticsDeps, Counting> {
  #removal = { next: 0, atMs: Number.NEGATIVE_INFINITY }

  constructor(deps: StatisticsDeps) {
    super(deps, STATISTICS_READER)
  }

  /** Reads to the end of the logs, or a share of the way. A later turn may save the last counts. */
  turn(): Promise<void> {
    return this.exclusively('turn', async () => {
      await this.readAndSave(this.deps.saveEveryMs ?? SAVE_EVERY_MS)
      if (this.work !== null) await this.#removeOld()
    })
  }

  protected positionsOf({ positions }: Counting): Positions {
    return positions
  }

  protected async readSome(counting: Counting): Promise<number> {
    const { entries, positions } = await this.reader.read(BATCH, counting.positions)
    for (const entry of entries) {
      await counting.buckets.add(entry)
      counting.positions = behind(counting.positions, entry)
      counting.unsaved += 1
      if (counting.unsaved >= SAVE_EVERY_ENTRIES || counting.buckets.changes >= SAVE_EVERY_CHANGES)
        await this.save(counting)
    }
    counting.positions = positions
    return entries.length
  }

  protected async takeUp({ fence, positions: stored, state: { newest_ms: newestMs } }: Held): Promise<Counting> {
    const { store } = this.deps
    const positions = stored ?? {}
    const buckets = await Buckets.open(
      {
        store,
        keptFrom: (interval) => this.#keptFrom(interval),
        save: () => (this.work === null ? Promise.resolve() : this.save(this.work)),
      },
      positions,
      typeof newestMs === 'number' ? newestMs : null,
    )
    return { fence, buckets, positions, unsaved: 0 }
  }

  protected async save(counting: Counting): Promise<void> {
    if (counting.unsaved === 0 && counting.buckets.changes === 0) return
    const { buckets, positions } = counting
    const counts = buckets.changed()
    let saved = 0
    // The store writes decisions in between. The positions come last: each count names the entries that it includes.
    for (; counts.length - saved > SAVED_TOGETHER; saved += SAVED_TOGETHER)
      await this.saveBatch({ counts: counts.slice(saved, saved + SAVED_TOGETHER) })
    await this.saveBatch({ positions, counts: counts.slice(saved), state: { newest_ms: buckets.newest } })
    buckets.saved(positions)
    counting.unsaved = 0
  }

  /** Removes a bounded part of the counts that are too old, one series after another. */
  async #removeOld(): Promise<void> {
    const nowMs = this.deps.monotonicMs()
    const ending = ENDING[this.#removal.next]
    if (ending === undefined || nowMs < this.#removal.atMs) return
    if ((await this.deps.store.counts.remove(ending.series, this.#keptFrom(ending.interval))) > 0) return
    const next = (this.#removal.next + 1) % ENDING.length
    this.#removal = { next, atMs: next === 0 ? nowMs + REMOVE_EVERY_MS : nowMs }
  }

  #keptFrom(interval: StatsInterval): number {
    const keptMs = KEPT_MS[interval]
    if (keptMs === null) return Number.NEGATIVE_INFINITY
    return startOf(interval, this.deps.clock.now().getTime() - keptMs)
  }
}

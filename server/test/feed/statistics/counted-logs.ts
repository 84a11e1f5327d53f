/** Logs of several processes in memory, counted into a real store, whose saves come to an end anywhere. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditEntry, AuditType, JsonObject, Stats } from '@countersign/contract'
import type { FeedBatch } from '@countersign/store-port/feed'
import { type Store, StoreUnavailableError } from '@countersign/store-port/store'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import type { Caller } from '#server/caller'
import { Statistics, type StatisticsDeps } from '#server/feed/statistics/statistics'
import { type GetStatsDeps, getStats, type StatsQuery } from '#server/use-cases/stats/get'
import { FROZEN } from '../../running-server.js'

/** What becomes of one save. */
export type SaveEnd =
  | 'as it should'
  /** Some counts are durable, the positions are not, and the process ends. */
  | 'torn'
  /** All is durable, but the process ends, or hears of an error. */
  | 'unanswered'

export class CountedLogs {
  readonly entries: AuditEntry[] = []
  readonly #lengths = new Map<string, number>()
  /** Of the saves to come, in order. */
  readonly saveEnds: SaveEnd[] = []
  nowMs = FROZEN.getTime()
  monotonicMs = 0
  /** Of how much of a torn save is durable. */
  random: () => number = () => 0.5
  #processes = 0
  saves = 0

  private constructor(
    private readonly dataDir: string,
    private readonly store: Store,
  ) {}

  static async open(): Promise<CountedLogs> {
    const dataDir = await mkdtemp(join(tmpdir(), 'countersign-'))
    return new CountedLogs(dataDir, await openSqliteStore({ dataDir }))
  }

  async close(): Promise<void> {
    await this.store.close()
    await rm(this.dataDir, { recursive: true })
  }

  write(log: string, type: AuditType, agentId: string | null, data: JsonObject): void {
    const index = this.#lengths.get(log) ?? 0
    this.#lengths.set(log, index + 1)
    const id = `aud_${String(this.entries.length).padStart(8, '0')}`
    const at = new Date(this.nowMs).toISOString()
    this.entries.push({
      id,
      log,
      index,
      at,
      type,
      actor: null,
      subject: 'dec_1',
      agent_id: agentId,
      data,
      leaf: '',
    } as AuditEntry)
  }

  /** A process that counts. */
  newProcess(): Statistics {
    this.#processes += 1
    return new Statistics({
      store: this.#feed(),
      holder: `process ${this.#processes}`,
      monotonicMs: () => this.monotonicMs,
      clock: { now: () => new Date(this.nowMs) },
    })
  }

  /** Ends the lease of whoever has the reader: the next to turn gets it. */
  async endLease(): Promise<void> {
    for (let i = 1; i <= this.#processes; i += 1) await this.store.feed.releaseReaders(`process ${i}`)
  }

  answer(query: StatsQuery, over: { agents?: readonly string[]; scopes?: readonly string[] } = {}): Promise<Stats> {
    const { agents = null, scopes = ['*'] } = over
    const caller = { key: { agents, scopes } } as unknown as Caller
    const clock = { now: () => new Date(this.nowMs) }
    return getStats({ clock, store: { feed: this.#feed() } }, caller, query, async () => {})
  }

  #feed() {
    const { feed } = this.store
    return {
      listLogs: async () => [...this.#lengths].map(([log, next_index]) => ({ log, next_index })),
      readLog: async (log: string, from: number, limit: number) =>
        this.entries.filter((entry) => entry.log === log && entry.index >= from).slice(0, limit),
      listCounts: feed.listCounts.bind(feed),
      findReader: feed.findReader.bind(feed),
      holdReader: feed.holdReader.bind(feed),
      removeCounts: feed.removeCounts.bind(feed),
      save: (batch: FeedBatch) => this.#save(batch),
    } satisfies StatisticsDeps['store'] & GetStatsDeps['store']['feed']
  }

  async #save(batch: FeedBatch): Promise<boolean> {
    const end = this.saveEnds.shift() ?? 'as it should'
    this.saves += 1
    const before = await this.store.feed.findReader(batch.reader.name)
    if (end !== 'torn') {
      const isSaved = await this.store.feed.save(batch)
      if (end === 'unanswered') throw new StoreUnavailableError('No answer came.')
      return isSaved
    }
    const counts = batch.counts.filter(() => this.random() < 0.5)
    await this.store.feed.save({ ...batch, counts, positions: before?.positions ?? {}, state: before?.state ?? {} })
    throw new StoreUnavailableError('The save came to an end.')
  }
}

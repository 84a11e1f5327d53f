/** Logs of several processes in memory, counted into a real store, whose saves come to an end anywhere. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditEntry, AuditType, JsonObject, Stats } from '@countersign/contract'
import type { Caller } from '#server/caller'
import { Statistics, type StatisticsDeps } from '#server/feed/statistics/statistics'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { FeedBatch } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { type GetStatsDeps, getStats, type StatsQuery } from '#server/use-cases/stats/get'
import { FROZEN } from '../../running-server.js'
import { altered } from '../../store-suite/index.js'

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

  /** Ends the lease of the holder of the reader: the next to turn gets it. */
  async endLease(): Promise<void> {
    for (let i = 1; i <= this.#processes; i += 1) await this.store.readers.release(`process ${i}`)
  }

  answer(query: StatsQuery, over: { agents?: readonly string[]; scopes?: readonly string[] } = {}): Promise<Stats> {
    const { agents = null, scopes = ['*'] } = over
    const caller = { key: { agents, scopes } } as unknown as Caller
    const clock = { now: () => new Date(this.nowMs) }
    return getStats({ clock, store: this.#feed() }, caller, query, async () => {})
  }

  #feed(): StatisticsDeps['store'] & GetStatsDeps['store'] {
    return altered(this.store, {
      audit: {
        listLogs: async () => [...this.#lengths].map(([log, next_index]) => ({ log, next_index })),
        read: async (log, from, limit) =>
          this.entries.filter((entry) => entry.log === log && entry.index >= from).slice(0, limit),
      },
      readers: { save: (batch) => this.#save(batch) },
    })
  }

  async #save(batch: FeedBatch): Promise<boolean> {
    const end = this.saveEnds.shift() ?? 'as it should'
    this.saves += 1
    const before = await this.store.readers.get(batch.reader.name)
    if (end !== 'torn') {
      const isSaved = await this.store.readers.save(batch)
      if (end === 'unanswered') throw new StoreUnavailableError('No answer came.')
      return isSaved
    }
    const counts = batch.counts.filter(() => this.random() < 0.5)
    await this.store.readers.save({ ...batch, counts, positions: before?.positions ?? {}, state: before?.state ?? {} })
    throw new StoreUnavailableError('The save came to an end.')
  }
}

import type { FeedBatch, FeedStore, HeldReader, Positions } from '../ports/store/feed.js'
import { type LogPage, readLogs } from '../use-cases/audit/log-reader.js'

export interface ReaderDeps {
  readonly store: Pick<FeedStore, 'audit' | 'readers'>
  /** Names this process, which holds its readers as long as it lives. */
  readonly holder: string
  /** The clock of the holds, in milliseconds. */
  readonly monotonicMs: () => number
}

const HELD_FOR_MS = 15_000
/** Long before another process may take the reader. */
const RENEWED_AFTER_MS = 5_000

export type Held = Pick<HeldReader, 'fence' | 'positions' | 'state'>

/**
 * A reader of the logs whose positions are in the store. One process at a time runs it; another continues where that
 * one stopped. Data that it saves with its positions is durable before they are: a crash repeats work and skips
 * nothing.
 */
export class Reader {
  #held: HeldReader | null = null
  #renewAtMs = 0

  constructor(
    private readonly deps: ReaderDeps,
    readonly name: string,
  ) {}

  /** Takes or keeps the reader. Null while another process has it. */
  async hold(): Promise<Held | null> {
    const nowMs = this.deps.monotonicMs()
    if (this.#held !== null && nowMs < this.#renewAtMs) return this.#held
    const held = await this.deps.store.readers.hold(this.name, this.deps.holder, HELD_FOR_MS)
    // The progress in memory counts unless another process had the reader in between.
    if (held === null || this.#held === null || held.fence !== this.#held.fence) this.#held = held
    this.#renewAtMs = nowMs + RENEWED_AFTER_MS
    return this.#held
  }

  /** Call this when the outcome of the last save is unknown: the next `hold` then reads the state from the store. */
  forget(): void {
    this.#held = null
  }

  /** Reads the entries after the last saved positions. */
  read(limit: number, from: Positions = this.#held?.positions ?? {}): Promise<LogPage> {
    return readLogs(this.deps.store, from, limit)
  }

  /** Returns false when another process has taken the reader: then nothing of the batch is saved. */
  async save(batch: Partial<Omit<FeedBatch, 'reader'>>): Promise<boolean> {
    const held = this.#held
    if (held === null) return false
    const { positions = held.positions ?? {}, state = held.state } = batch
    const nothing = { deliveries: [], counts: [], nodes: [], checkpoints: [] }
    const reader = { name: held.name, fence: held.fence }
    const isSaved = await this.deps.store.readers.save({ ...nothing, ...batch, reader, positions, state })
    this.#held = isSaved ? { ...held, positions, state } : null
    return isSaved
  }
}

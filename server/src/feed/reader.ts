import type { FeedBatch, FeedReads, FeedWrites, HeldReader, Positions } from '@countersign/store-port/feed'
import { type LogPage, readLogs } from './log-reader.js'

export interface ReaderDeps {
  readonly store: Pick<FeedReads, 'listLogs' | 'readLog'> & Pick<FeedWrites, 'holdReader' | 'save'>
  /** Names this process: it holds its readers as long as it lives. */
  readonly holder: string
  /** The clock of the holds, in milliseconds. */
  readonly monotonicMs: () => number
}

const HELD_FOR_MS = 15_000
/** Long before another process may take it. */
const RENEWED_AFTER_MS = 5_000

/**
 * A reader of the logs with positions in the store. One process at a time runs it; another goes on where that one stopped.
 * What it saves together with its positions is durable before they are: a crash repeats work, and leaves nothing out.
 */
export class Reader {
  #held: HeldReader | null = null
  #renewAtMs = 0

  constructor(
    private readonly deps: ReaderDeps,
    readonly name: string,
  ) {}

  /** Takes the reader, or keeps it. Null while another process has it. */
  async hold(): Promise<Pick<HeldReader, 'fence' | 'positions' | 'state'> | null> {
    const nowMs = this.deps.monotonicMs()
    if (this.#held !== null && nowMs < this.#renewAtMs) return this.#held
    const held = await this.deps.store.holdReader(this.name, this.deps.holder, HELD_FOR_MS)
    // What this process has in hand counts as long as nobody else had the reader in between.
    if (held === null || this.#held === null || held.fence !== this.#held.fence) this.#held = held
    this.#renewAtMs = nowMs + RENEWED_AFTER_MS
    return this.#held
  }

  /** Whether the last save became durable is unknown: what the store says counts, and the next `hold` asks it. */
  forget(): void {
    this.#held = null
  }

  /** The entries behind the positions that were saved last. */
  read(limit: number, from: Positions = this.#held?.positions ?? {}): Promise<LogPage> {
    return readLogs(this.deps.store, from, limit)
  }

  /** False when another process has taken the reader: nothing of this counts then. */
  async save(batch: Partial<Omit<FeedBatch, 'reader'>>): Promise<boolean> {
    const held = this.#held
    if (held === null) return false
    const {
      positions = held.positions ?? {},
      state = held.state,
      deliveries = [],
      counts = [],
      nodes = [],
      checkpoints = [],
    } = batch
    const { name, fence } = held
    if (
      !(await this.deps.store.save({
        reader: { name, fence },
        positions,
        state,
        deliveries,
        counts,
        nodes,
        checkpoints,
      }))
    ) {
      this.#held = null
      return false
    }
    this.#held = { ...held, positions, state }
    return true
  }
}

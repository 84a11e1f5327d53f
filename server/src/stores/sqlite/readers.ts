import type { FeedBatch, HeldReader, ReaderStore } from '../../ports/store/feed.js'
import type { Read } from './driver.js'
import { findHeldReader, findReader, listReaders } from './tables/readers.js'
import type { Ask, FeedTask } from './writer-tasks.js'

interface Hold {
  readonly holder: string
  untilMs: number
  /** Resolves when the reader is taken. */
  readonly taken: Promise<HeldReader>
}

/**
 * Keeps the holder of a reader and the end of its hold in memory, because this process has the directory exclusively
 * and no hold outlives it. A second instance in the process would not see the hold, and would take the reader at once:
 * then the fences, which are on the disk, block the writes of the first one.
 */
export class SqliteReaders implements ReaderStore {
  /** By the names of the readers. */
  readonly #holds = new Map<string, Hold>()

  constructor(
    private readonly read: Read,
    private readonly ask: Ask<FeedTask>,
    private readonly nowMs: () => number,
  ) {}

  async hold(name: string, holder: string, forMs: number): Promise<HeldReader | null> {
    const untilMs = this.nowMs() + forMs
    const hold = this.#holds.get(name)
    if (hold === undefined || hold.untilMs <= this.nowMs()) return this.#take(name, holder, untilMs)
    if (hold.holder !== holder) return this.read(() => null, [])
    hold.untilMs = untilMs
    await hold.taken
    // The reader was removed, so no hold of it counts.
    return (await this.read(findHeldReader, [name])) ?? this.#take(name, holder, untilMs)
  }

  async #take(name: string, holder: string, untilMs: number): Promise<HeldReader> {
    const hold: Hold = { holder, untilMs, taken: this.ask('takeReader', name) }
    this.#holds.set(name, hold)
    try {
      return await hold.taken
    } catch (error) {
      if (this.#holds.get(name) === hold) this.#holds.delete(name)
      throw error
    }
  }

  release(holder: string): Promise<void> {
    return this.read(() => {
      for (const [name, hold] of this.#holds) if (hold.holder === holder) this.#holds.delete(name)
    }, [])
  }

  save(batch: FeedBatch): Promise<boolean> {
    return this.ask('saveBatch', JSON.stringify(batch))
  }

  async remove(name: string): Promise<void> {
    this.#holds.delete(name)
    await this.ask('removeReader', name)
  }

  get(name: string) {
    return this.read(findReader, [name])
  }

  list(prefix: string) {
    return this.read(listReaders, [prefix])
  }
}

/** The work of a reader that is in memory between two saves. */
import { setImmediate } from 'node:timers/promises'
import { KeyedMutex } from '../concurrency/keyed-mutex.js'
import type { FeedBatch, Positions } from '../ports/store/feed.js'
import { isAt, positionsAtEnd } from '../use-cases/audit/log-reader.js'
import { type Held, Reader, type ReaderDeps } from './reader.js'

/** How long a turn, or a call that waits for the work, may take. */
const SHARE_MS = 2000

/** Another process has the reader now. */
class ReaderLostError extends Error {}

export abstract class KeptWork<Deps extends ReaderDeps, Work extends { readonly fence: number }> {
  protected readonly reader: Reader
  /** What this process has done since it took the reader. */
  protected work: Work | null = null
  readonly #mutex = new KeyedMutex()
  #savedAtMs = Number.NEGATIVE_INFINITY

  constructor(
    protected readonly deps: Deps,
    name: string,
  ) {
    this.reader = new Reader(deps, name)
  }

  /** Continues from the stored state. */
  protected abstract takeUp(held: Held): Promise<Work>
  protected abstract positionsOf(work: Work): Positions
  /** Works on the next entries. Resolves with how many there were. */
  protected abstract readSome(work: Work): Promise<number>
  /** Saves what is unsaved. @throws ReaderLostError */
  protected abstract save(work: Work): Promise<void>

  /**
   * Does and saves what the logs contain now, unless that takes long. If another process has the reader, that process
   * does it.
   */
  catchUp(): Promise<void> {
    return this.exclusively('catch up', async () => {
      await this.#readOn(await positionsAtEnd(this.deps.store))
      if (this.work !== null) await this.save(this.work)
    })
  }

  /** Reads to the end of the logs, or a share of the way. Saves unless the last save was less than `everyMs` ago. */
  protected async readAndSave(everyMs: number): Promise<void> {
    await this.#readOn(null)
    if (this.work !== null && this.deps.monotonicMs() - this.#savedAtMs >= everyMs) await this.save(this.work)
  }

  /** @throws ReaderLostError */
  protected async saveBatch(batch: Partial<Omit<FeedBatch, 'reader'>>): Promise<void> {
    if (!(await this.reader.save(batch))) throw new ReaderLostError('Another process has the reader.')
    this.#savedAtMs = this.deps.monotonicMs()
  }

  /** After any failure the stored state counts, and memory is rebuilt from it. */
  protected exclusively(name: string, task: () => Promise<void>): Promise<void> {
    return this.#mutex.join(name, () =>
      this.#mutex.run('all', async () => {
        try {
          await task()
        } catch (error) {
          this.work = null
          this.failed(error)
        }
      }),
    )
  }

  protected failed(error: unknown): void {
    if (!(error instanceof ReaderLostError)) throw error
  }

  /** Returns the work of this process; null while another one has the reader. */
  protected async hold(): Promise<Work | null> {
    const held = await this.reader.hold()
    if (held === null || held.fence !== this.work?.fence) this.work = null
    if (held !== null) this.work ??= await this.takeUp(held)
    return this.work
  }

  /** @param ends where to stop; null for the end of the logs, which moves */
  async #readOn(ends: Positions | null): Promise<void> {
    const untilMs = this.deps.monotonicMs() + SHARE_MS
    for (let work = await this.hold(); work !== null; work = await this.hold()) {
      if (ends !== null && isAt(this.positionsOf(work), ends)) return
      if ((await this.readSome(work)) === 0 || this.deps.monotonicMs() > untilMs) return
      // Lets other work in this thread run.
      await setImmediate()
    }
  }
}

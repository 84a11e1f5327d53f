import { fsyncSync } from 'node:fs'
import type { Connection } from './driver.js'
import { hasSums, PageSums } from './page-sums.js'
import { readWalPosition, sumsOfFrames, type WalPosition } from './wal-file.js'

/** The log is copied into the database at 16 MiB; the next group waits for that. */
const FULL_FRAMES = 4000
/** A reader of an older state prevents a complete copy of the log: it is retried after this many more frames. */
const AGAIN_FRAMES = 1000

/**
 * Copies the log into the database, after the sums of its pages. SQLite must not do so by itself (`wal_autocheckpoint =
 * 0`).
 */
export class Checkpoints {
  /** Null when the file was removed: the next start reads the whole store and creates the file. */
  readonly #sums: PageSums | null
  #salts: Buffer = Buffer.alloc(0)
  #summed = 0
  #dueAt = FULL_FRAMES
  #isFailing = false

  /**
   * @param indexDescriptor of the -shm file. It stays open, because closing it would drop SQLite's locks on it.
   * @param onError called once with the reason why the log could not be copied, until a copy succeeds
   */
  constructor(
    private readonly db: Connection,
    private readonly databasePath: string,
    private readonly indexDescriptor: number,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#sums = hasSums(databasePath) ? PageSums.read(databasePath) : null
  }

  /** Called after each commit. Never throws: the commit is durable, and a failed copy is retried. */
  whenDue(): void {
    const position = this.#position()
    if (position === null || position.frames < this.#dueAt) return
    this.#dueAt = position.frames + AGAIN_FRAMES
    try {
      this.#sum(position)
      this.db.get('PRAGMA wal_checkpoint(PASSIVE)')
      this.#isFailing = false
    } catch (error) {
      // For example, the disk is full. The log continues to grow.
      if (!this.#isFailing) this.onError(error)
      this.#isFailing = true
    }
  }

  /**
   * Copies the whole log and empties it. False while a connection reads from it: then the log stays, and is read at the
   * next start.
   */
  empty(): boolean {
    const position = this.#position()
    if (position === null) return false
    this.#sum(position)
    this.db.get('PRAGMA wal_checkpoint(PASSIVE)')
    const after = this.#position()
    if (after === null || after.copied < after.frames) return false
    // Nothing else syncs the index. After a loss of power it must not name frames to copy while the log is empty.
    fsyncSync(this.indexDescriptor)
    return this.db.withoutWaiting(() => this.db.get('PRAGMA wal_checkpoint(TRUNCATE)'))?.busy === 0
  }

  #position(): WalPosition | null {
    const position = readWalPosition(this.indexDescriptor)
    if (position !== null && !position.salts.equals(this.#salts)) {
      this.#salts = position.salts
      this.#summed = 0
      this.#dueAt = FULL_FRAMES
    }
    return position
  }

  #sum(position: WalPosition): void {
    if (position.frames === this.#summed) return
    this.#sums?.take(sumsOfFrames(`${this.databasePath}-wal`, this.indexDescriptor, this.#summed, position))
    this.#summed = position.frames
  }
}

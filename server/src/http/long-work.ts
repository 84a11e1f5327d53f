import type { LineOf } from '../state/shares.js'
import { FairQueue } from './fair-queue.js'
import { goneError, type PlaceSeeker, Places } from './places.js'

/** How long a task may block the event loop between two pauses. */
const SLICE_MS = 1

/**
 * Awaited in the middle of long work. Resolves at once, or after other work had its turn. Rejects when the caller no
 * longer wants the result.
 */
export type Pause = () => Promise<void>

/** The place in which long work runs. */
export interface Place {
  readonly pause: Pause
  /**
   * Waits without holding a place.
   *
   * @throws what `wait` throws; DomainError rate_limited
   */
  outside<T>(wait: () => Promise<T>): Promise<T>
}

interface PausedTask {
  readonly groups: readonly string[]
  readonly goOn: () => void
}

export interface LongWorkOptions {
  /** Returns the keys that a key descends from, first ancestor first, and the key itself. Without it, just the key. */
  readonly lineOf?: LineOf
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number
}

/**
 * Schedules work that may take long, such as lists and simulations. Each turn of the event loop runs one piece, so that
 * decisions are not delayed. API keys take turns, so that no key can block the others.
 */
export class LongWork {
  /** Tracks which key holds which place. */
  readonly places: Places
  private readonly paused = new FairQueue<PausedTask>()
  private readonly nowMs: () => number

  constructor({ lineOf = () => [], nowMs = () => performance.now() }: LongWorkOptions = {}) {
    this.places = new Places(lineOf)
    this.nowMs = nowMs
  }

  /**
   * Runs the work of an API key in a place, when it is the key's turn.
   *
   * @throws DomainError rate_limited when too many tasks of the key wait, or its turn does not come in time
   * @throws what `work` throws
   */
  async run<T>(seeker: PlaceSeeker, work: (place: Place) => Promise<T>): Promise<T> {
    const held = await this.places.take(seeker)
    try {
      await this.turn(seeker.keyId)
      if (!seeker.isWanted()) throw goneError()
      return await work({
        pause: this.pauses(seeker.keyId, seeker.isWanted),
        outside: (wait) => held.outside(wait),
      })
    } finally {
      held.leave()
    }
  }

  /** Creates a pause for work that begins now. It yields whenever the work has used up its time slice. */
  pauses(keyId: string, isWanted: () => boolean = () => true): Pause {
    let started = this.nowMs()
    return async () => {
      if (!isWanted()) throw goneError()
      if (this.nowMs() - started < SLICE_MS) return
      await this.turn(keyId)
      started = this.nowMs()
    }
  }

  /** Resolves in a turn of the event loop in which no other long work runs. */
  turn(keyId: string): Promise<void> {
    return new Promise((goOn) => {
      if (this.paused.isEmpty) setImmediate(this.wake)
      this.paused.add({ groups: this.places.groupsOf(keyId), goOn })
    })
  }

  private readonly wake = (): void => {
    this.paused.take()?.goOn()
    if (!this.paused.isEmpty) setImmediate(this.wake)
  }
}

import { type Moment, thisMoment } from '../concurrency/moment.js'
import { poll } from '../concurrency/poll.js'
import type { Replicas, Revision } from '../ports/store/replicas.js'
import type { Changes } from './changes.js'
import type { ConfirmedFreshness } from './freshness.js'
import { StoreMutex } from './store-mutex.js'

/** Reloads each kind of in-memory state from the store. */
export type Reload = Readonly<Record<keyof Revision, () => Promise<void>>>

/** A slow poll does not delay the next ones, which may find a working connection. Every poll counts. */
const MAX_CONCURRENT_POLLS = 8

/**
 * Keeps the in-memory state up to date with a store that other processes change too: polls the store's revision,
 * reloads what has changed, and confirms that memory is fresh.
 */
export class FollowedStore {
  private known: Partial<Revision> = {}

  constructor(
    private readonly replicas: Pick<Replicas, 'revision' | 'listen'>,
    private readonly reload: Reload,
    private readonly freshness: ConfirmedFreshness,
    private readonly now: () => Moment = thisMoment,
  ) {}

  /**
   * Polls once. Reloads run between two changes of this process, so that they cannot undo a later change.
   *
   * @throws StoreUnavailableError
   */
  private async pollOnce({ queue }: Pick<Changes, 'queue'>): Promise<void> {
    const at = this.now()
    const revision = await this.replicas.revision()
    if (this.changed(revision).length > 0) await queue.run(() => this.takeOver(revision))
    this.freshness.confirm(at)
  }

  /**
   * Polls every `everyMs`, and when the store reports a change. @returns a function that stops, once running polls have
   * ended
   */
  follow(changes: Pick<Changes, 'queue'>, everyMs: number, onError: (error: unknown) => void): () => Promise<void> {
    const loop = poll(() => this.pollOnce(changes), { everyMs, concurrency: MAX_CONCURRENT_POLLS, onError })
    const mutex = new StoreMutex()
    // Adds only one more poll, even if several changes are reported during one.
    const stopListening = this.replicas.listen(() => void mutex.join('poll', () => loop.runNow()))
    return async () => {
      await Promise.all([stopListening(), loop.stop()])
    }
  }

  /** Polls from within a change, which already runs in the queue. */
  async catchUp(): Promise<void> {
    const at = this.now()
    await this.takeOver(await this.replicas.revision())
    this.freshness.confirm(at)
  }

  private async takeOver(revision: Revision): Promise<void> {
    for (const kind of this.changed(revision)) {
      await this.reload[kind]()
      this.freshness.changed()
      this.known = { ...this.known, [kind]: revision[kind] }
    }
  }

  private changed(revision: Revision): (keyof Revision)[] {
    const kinds = Object.keys(revision) as (keyof Revision)[]
    return kinds.filter((kind) => revision[kind] === null || revision[kind] !== this.known[kind])
  }
}

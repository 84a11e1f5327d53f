import { type Moment, poll, thisMoment } from '@countersign/concurrency'
import type { Replicas, Revision } from '@countersign/store-port/replicas'
import type { Changes } from './changes.js'
import type { ConfirmedFreshness } from './freshness.js'
import { StoreMutex } from './store-mutex.js'

/** For each kind of state in memory, reads it from the store again. */
export type Reload = Readonly<Record<keyof Revision, () => Promise<void>>>

/** A slow poll does not delay the next ones: they may find a connection that works. Each one counts. */
const MAX_CONCURRENT_POLLS = 8

/**
 * Keeps the state in memory up to date with a store that other processes change too: polls the store's revision, reads
 * again what has changed, and confirms the freshness of memory.
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
   * Polls once. State is read again between two changes of this process: what is read cannot undo a later change.
   *
   * @throws StoreUnavailableError
   */
  private async pollOnce({ queue }: Pick<Changes, 'queue'>): Promise<void> {
    const at = this.now()
    const revision = await this.replicas.revision()
    if (this.changed(revision).length > 0) await queue.run(() => this.takeOver(revision))
    this.freshness.confirm(at)
  }

  /** Polls every `everyMs`, and when the store reports a change. @returns stops, once the polls in progress have ended */
  follow(changes: Pick<Changes, 'queue'>, everyMs: number, onError: (error: unknown) => void): () => Promise<void> {
    const loop = poll(() => this.pollOnce(changes), { everyMs, concurrency: MAX_CONCURRENT_POLLS, onError })
    const mutex = new StoreMutex()
    // One more poll, however many changes are reported during one.
    const stopListening = this.replicas.listen(() => void mutex.join('poll', () => loop.runNow()))
    return async () => {
      await Promise.all([stopListening(), loop.stop()])
    }
  }

  /** Polls from within a change, which runs in the queue already. */
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

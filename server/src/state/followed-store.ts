import { type Moment, thisMoment } from '@countersign/concurrency'
import type { Replicas, Revision } from '@countersign/store-port/replicas'
import type { Changes } from './changes.js'
import type { ConfirmedFreshness } from './freshness.js'
import { StoreMutex } from './store-mutex.js'

/** Reads one of the things that are kept in memory anew from the store. */
export type Reload = Readonly<Record<keyof Revision, () => Promise<void>>>

/** A look that is slow does not keep others waiting, which may find a connection that works; all of them count. */
const MOST_LOOKS = 8

/**
 * Keeps what this process has in memory up with a store that others change too: looks at the revision, reads anew what
 * has changed, and says so to whoever asks how fresh memory is.
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
   * Looks once. Changes of this process wait while something is read anew: what they have made count is not undone by what
   * was read before.
   *
   * @throws StoreUnavailableError
   */
  private async look(changes: Pick<Changes, 'inTurn'>): Promise<void> {
    const at = this.now()
    const revision = await this.replicas.revision()
    if (this.changed(revision).length > 0) await changes.inTurn(() => this.takeOver(revision))
    this.freshness.confirm(at)
  }

  /** Looks again and again, and when it is told of a change, until it is stopped. Stopping waits for the looks in progress. */
  follow(changes: Pick<Changes, 'inTurn'>, everyMs: number, onError: (error: unknown) => void): () => Promise<void> {
    const looks = new Set<Promise<void>>()
    let isStopped = false
    const look = async () => {
      if (isStopped || looks.size >= MOST_LOOKS) return
      const begun = this.look(changes)
        .catch(onError)
        .finally(() => looks.delete(begun))
      looks.add(begun)
      await begun
    }
    const timer = setInterval(look, everyMs).unref()
    const mutex = new StoreMutex()
    // However many changes are told of while it looks, it looks once more.
    const stopListening = this.replicas.listen(() => void mutex.join('look', look))
    return async () => {
      isStopped = true
      clearInterval(timer)
      await stopListening()
      await Promise.all(looks)
    }
  }

  /** The same from within a change, which has its turn already. */
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

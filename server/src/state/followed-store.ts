import type { Replicas, Revision } from '../ports/replicas.js'
import { StoreUnavailableError } from '../ports/store.js'
import type { Changes } from './changes.js'
import { type ConfirmedFreshness, type Moment, presentMoment } from './freshness.js'

/** Reads one of the things that are kept in memory anew from the store. */
export type Reload = Readonly<Record<keyof Revision, () => Promise<void>>>

/** A look that takes longer is given up: the next one may find a connection that works. */
const LOOK_DEADLINE_MS = 1000

/**
 * Keeps what this process has in memory up with a store that others change too: looks at the revision, reads anew what
 * has changed, and says so to whoever asks how fresh memory is.
 */
export class FollowedStore {
  private known: Partial<Revision> = {}

  constructor(
    private readonly replicas: Pick<Replicas, 'revision'>,
    private readonly reload: Reload,
    private readonly freshness: ConfirmedFreshness,
    private readonly now: () => Moment = presentMoment,
  ) {}

  /**
   * Looks once. Changes of this process wait while something is read anew: what they have made count is not undone by what
   * was read before.
   *
   * @throws StoreUnavailableError
   */
  async look(changes: Pick<Changes, 'inTurn'>): Promise<void> {
    const at = this.now()
    const revision = await this.readRevision()
    if (this.changed(revision).length > 0) await changes.inTurn(() => this.takeOver(revision))
    this.freshness.confirm(at)
  }

  /** The same from within a change, which has its turn already. */
  async catchUp(): Promise<void> {
    const at = this.now()
    await this.takeOver(await this.readRevision())
    this.freshness.confirm(at)
  }

  private async takeOver(revision: Revision): Promise<void> {
    for (const kind of this.changed(revision)) {
      await this.reload[kind]()
      this.known = { ...this.known, [kind]: revision[kind] }
    }
  }

  private changed(revision: Revision): (keyof Revision)[] {
    const kinds = Object.keys(revision) as (keyof Revision)[]
    return kinds.filter((kind) => revision[kind] === null || revision[kind] !== this.known[kind])
  }

  private async readRevision(): Promise<Revision> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new StoreUnavailableError(`The store did not tell its revision within ${LOOK_DEADLINE_MS} ms.`)
      timer = setTimeout(() => reject(error), LOOK_DEADLINE_MS)
    })
    const read = this.replicas.revision()
    return Promise.race([read, late]).finally(() => clearTimeout(timer))
  }
}

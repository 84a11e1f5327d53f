import type { FeedStore } from '../../ports/store/feed.js'
import type { KeptTrees } from '../../use-cases/audit/trees.js'
import { RewrittenError } from './rewritten-error.js'

/** One turn checks this many logs, so that its work does not grow with the number of logs. */
const LOGS = 32

/**
 * Checks that the newest entry of each log that a checkpoint covers still exists. Otherwise the loss of a log that is
 * no longer written would go unnoticed.
 */
export class LastEntries {
  /** The last log that was checked. */
  #last = ''

  constructor(private readonly store: Pick<FeedStore, 'audit'>) {}

  /** Starts over with the first log. */
  forget(): void {
    this.#last = ''
  }

  /** @throws RewrittenError */
  async lookAtAll(trees: KeptTrees): Promise<void> {
    for (let left = Object.keys(trees.logs).length; left > 0; left -= LOGS) await this.look(trees)
  }

  /** @throws RewrittenError */
  async look({ logs }: KeptTrees): Promise<void> {
    const inOrder = Object.entries(logs).sort(([one], [other]) => (one < other ? -1 : 1))
    const behind = inOrder.filter(([log]) => log > this.#last).slice(0, LOGS)
    const chosen = behind.length > 0 ? behind : inOrder.slice(0, LOGS)
    const found = await Promise.all(
      chosen.map(async ([log, { tree }]) => {
        const entries = tree.size === 0 ? [null] : await this.store.audit.read(log, tree.size - 1, 1)
        return { log, index: tree.size - 1, isThere: entries.length > 0 }
      }),
    )
    const gone = found.find(({ isThere }) => !isThere)
    if (gone !== undefined)
      throw new RewrittenError(`Entry ${gone.index} of log ${gone.log} is under a checkpoint, and the store lacks it.`)
    this.#last = chosen.at(-1)?.[0] ?? ''
  }
}

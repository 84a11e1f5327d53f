import { randomBytes } from 'node:crypto'
import { StoreUnavailableError } from '../../ports/store.js'
import type { Database } from './database.js'
import { type Followers, finishGroup } from './finish-group.js'
import type { FollowedKind, Intent, LogDocument } from './stored.js'

/** A process that does not say for so long that it lives may lose its log to another. */
const HELD_FOR_MS = 30_000

const FOLLOWED: readonly FollowedKind[] = ['policies', 'agent', 'keys']

interface Held {
  readonly log: string
  readonly epoch: number
}

/**
 * The audit log that this process writes. Before a group of records leaves, the log says which: so whoever takes the log
 * over after a crash knows what may still be on its way, makes sure that it comes or never will, and fills the places of
 * what never will.
 */
export class Log {
  readonly #database: Database
  readonly #followers: Followers
  readonly #nowMs: () => number
  readonly #process = randomBytes(9).toString('base64url')
  #held: Held | null = null
  #next: number | null = null
  #start = 0

  constructor(database: Database, followers: Followers, nowMs: () => number) {
    this.#database = database
    this.#followers = followers
    this.#nowMs = nowMs
  }

  async open(): Promise<{ readonly log: string; readonly next_index: number }> {
    this.#next = null
    const mine = await this.#hold()
    this.#held = { log: mine._id, epoch: mine.epoch }
    const next = await finishGroup(this.#database, this.#followers, mine)
    this.#next = next
    this.#start = next
    return { log: mine._id, next_index: next }
  }

  /** The index of the next entry. @throws StoreUnavailableError unless the log is open */
  get nextIndex(): number {
    if (this.#next === null) throw new StoreUnavailableError('The audit log has to be opened first.')
    return this.#next
  }

  get name(): string | null {
    return this.#held?.log ?? null
  }

  /** Whether an entry is known to be in the log, since a later group of ours has left. */
  isCopied({ log, index }: { readonly log: string; readonly index: number }): boolean {
    return log === this.#held?.log && index < this.#start
  }

  /** Says what is about to be written. False when another process has taken the log. */
  async announce(group: readonly Intent[]): Promise<boolean> {
    const start = this.nextIndex
    const { log, epoch } = this.#held as Held
    const underway = followedKinds(group)
    const announced = Object.fromEntries(underway.map((kind) => [`announced.${kind}`, 1]))
    const { matchedCount } = await this.#database.call(() =>
      this.#database.logs.updateOne(
        { _id: log, epoch },
        {
          $set: { start, group: [...group], underway, until_ms: this.#nowMs() + HELD_FOR_MS },
          ...(underway.length > 0 && { $inc: announced }),
        },
      ),
    )
    if (matchedCount === 0) this.#lose()
    else this.#start = start
    return matchedCount === 1
  }

  /** Every record of the announced group stands, or never will: who follows the changes has seen them from now on. */
  async settle(group: readonly Intent[]): Promise<void> {
    if (followedKinds(group).length === 0) return
    const { log, epoch } = this.#held as Held
    await this.#database.call(() => this.#database.logs.updateOne({ _id: log, epoch }, { $set: { underway: [] } }))
  }

  /** The announced group is whole, in the log. */
  advance(entries: number): void {
    // Without an announced group the log may be another process's by now.
    if (entries > 0) this.#next = this.nextIndex + entries
  }

  /** What became of the announced group is not known: the log has to be opened again. */
  doubt(): void {
    this.#next = null
  }

  /** Says that this process lives. */
  async renew(): Promise<void> {
    const held = this.#held
    if (held === null) return
    await this.#database.call(() =>
      this.#database.logs.updateOne(
        { _id: held.log, epoch: held.epoch },
        { $set: { until_ms: this.#nowMs() + HELD_FOR_MS } },
      ),
    )
  }

  /** Leaves the log to the next process. */
  async giveUp(): Promise<void> {
    const held = this.#held
    if (held === null) return
    await this.#database.call(() =>
      this.#database.logs.updateOne({ _id: held.log, epoch: held.epoch }, { $set: { holder: null } }),
    )
  }

  #lose(): void {
    this.#held = null
    this.#next = null
  }

  /** The log of this process, else one that nobody holds, else a new one. */
  async #hold(): Promise<LogDocument> {
    const { logs } = this.#database
    const holder = this.#process
    for (;;) {
      const found = await this.#database.call(
        async () =>
          (await logs.findOne({ holder })) ??
          (await logs.findOne({ $or: [{ holder: null }, { until_ms: { $lt: this.#nowMs() } }] }, { sort: { _id: 1 } })),
      )
      const until_ms = this.#nowMs() + HELD_FOR_MS
      if (found === null) {
        const fresh = newLog(randomBytes(6).toString('base64url'), holder, until_ms)
        await this.#database.insertNew(logs, [fresh])
        continue
      }
      if (found.holder === holder) return found
      const taken = { holder, until_ms, epoch: found.epoch + 1 }
      await this.#database.call(() => logs.updateOne({ _id: found._id, epoch: found.epoch }, { $set: taken }))
    }
  }
}

function newLog(_id: string, holder: string, until_ms: number): LogDocument {
  const announced = { policies: 0, agent: 0, keys: 0 }
  return { _id, epoch: 1, holder, until_ms, start: 0, group: [], announced, underway: [] }
}

/** Which of the things that every process keeps in memory a group changes. */
function followedKinds(group: readonly Intent[]): FollowedKind[] {
  const kinds = new Set(group.map(({ home }) => home.kind))
  return FOLLOWED.filter((kind) => kinds.has(kind))
}

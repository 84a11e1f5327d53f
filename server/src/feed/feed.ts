/** The feed: everything that reads the audit log after the fact. Nothing waits for it, and it changes no decision. */
import { randomUUID } from 'node:crypto'
import { KeyedMutex, type Poll, poll } from '@countersign/concurrency'
import { type EventDecision, LIVE_TYPES, type LiveEvent } from '@countersign/contract'
import type { FeedReads, FeedWrites, Positions } from '@countersign/store-port/feed'
import type { Clock } from '../ports/clock.js'
import type { LivePage } from '../ports/live-page.js'
import type { Log } from '../ports/log.js'
import type { TextSignature } from '../ports/signer.js'
import { withoutShadow } from '../use-cases/decisions/view.js'
import { type BudgetAlarm, BudgetAlarms } from './budget-alarms.js'
import { eventsOf } from './event-of.js'
import { behind, positionsAtEnd, readLogs } from './log-reader.js'
import { Statistics } from './statistics/statistics.js'
import { Trees } from './trees/trees.js'
import { Webhooks } from './webhooks/webhooks.js'

/** The feed as the server uses it, whichever thread it runs in. */
export interface Feed {
  /** Something was written: the readers look for it soon. Costs next to nothing. */
  wake(): void
  /**
   * The live events behind these positions, oldest first, of at most `limit` entries. Null: none, and the present end.
   *
   * @throws StoreUnavailableError
   */
  readEvents(from: Positions | null, limit: number): Promise<LivePage>
  /** Resolves when what is durable now is counted, as far as it is this process that counts. */
  catchUpStatistics(): Promise<void>
  /** Resolves when what is durable now is under a checkpoint, as far as it is this process that keeps the trees. */
  catchUpTrees(): Promise<void>
  /** Resolves when nothing is in progress any more. */
  close(): Promise<void>
}

/** What the feed asks of the server: changes go through the one writer. */
export interface FeedHost {
  /** Writes an alarm to the log, unless its name is taken. */
  raise(alarm: BudgetAlarm): Promise<void>
  /** Disables a webhook that cannot be reached. */
  disable(webhookId: string, reason: 'gone' | 'failing'): Promise<void>
  /** Signs the text of a checkpoint. */
  sign(text: string): Promise<TextSignature>
}

export interface FeedDeps {
  readonly store: FeedReads & FeedWrites
  readonly clock: Clock
  readonly log: Log
  readonly host: FeedHost
  /** Whether webhooks may have private addresses. */
  readonly allowsPrivate: boolean
  /** The issuer of the permits, and the origin of the checkpoints. */
  readonly issuer: string
}

/** Changes of other processes are not announced: each reader looks for them so often. */
const EVERY_MS = 1000
/** What is written within this time is read together. */
const GATHER_MS = 20

/** Of those who wait for the statistics, or for the trees. */
const CATCH_UP = 'catch up'
const CATCH_UP_TREES = 'catch up trees'

/** A part of the feed: a turn does what there is to do, or a share of it. */
interface Part {
  readonly name: string
  readonly turn: () => Promise<void>
}

/** The feed in the thread that runs it. */
export class RunningFeed implements Feed {
  readonly #holder = randomUUID()
  readonly #parts: readonly Part[]
  readonly #webhooks: Webhooks
  readonly #turns = new KeyedMutex()
  readonly #statistics: Statistics
  readonly #trees: Trees
  readonly #poll: Poll
  #isClosed = false
  #waking: NodeJS.Timeout | null = null

  constructor(private readonly deps: FeedDeps) {
    const { store, clock, log, host } = deps
    const readers = { store, holder: this.#holder, monotonicMs: () => performance.now() }
    const alarms = new BudgetAlarms({ ...readers, clock, raise: (alarm) => host.raise(alarm) })
    this.#webhooks = new Webhooks({
      ...readers,
      clock,
      log,
      allowsPrivate: deps.allowsPrivate,
      random: Math.random,
      disable: (id, reason) => host.disable(id, reason),
    })
    this.#statistics = new Statistics({ ...readers, clock })
    this.#trees = new Trees({ ...readers, clock, issuer: deps.issuer, sign: (text) => host.sign(text) })
    this.#parts = [
      { name: 'budget alarms', turn: () => alarms.turn() },
      { name: 'webhooks', turn: () => this.#webhooks.turn() },
      { name: 'statistics', turn: () => this.#statistics.turn() },
      { name: 'trees', turn: () => this.#trees.turn() },
    ]
    this.#poll = poll(() => this.#turn(), { everyMs: EVERY_MS, firstMs: 0, onError: () => {} })
  }

  wake(): void {
    this.#waking ??= setTimeout(() => {
      this.#waking = null
      void this.#turn()
    }, GATHER_MS).unref()
  }

  /** Each part by itself: none waits for another. A part that is at work gets one turn more. */
  async #turn(): Promise<void> {
    if (this.#isClosed) return
    await Promise.all(
      this.#parts.map(({ name, turn }) =>
        this.#turns.join(name, async () => {
          if (!this.#isClosed) await turn().catch((err) => this.#failed(name, err))
        }),
      ),
    )
  }

  #failed(part: string, err: unknown): void {
    this.deps.log.error({ err, part }, 'a part of the feed failed; it tries again')
  }

  async readEvents(from: Positions | null, limit: number): Promise<LivePage> {
    const { store } = this.deps
    if (from === null) return { events: [], erased: [], positions: await positionsAtEnd(store) }
    const { entries, positions } = await readLogs(store, from, limit)
    const events: LivePage['events'][number][] = []
    let at = from
    for (const entry of entries) {
      at = behind(at, entry)
      const found = IS_LIVE.has(entry.type) ? await eventsOf(store, entry) : []
      const event = found.find(({ type }) => IS_LIVE.has(type))
      if (event === undefined) continue
      const { type, timestamp, sequence, data } = event
      const { log, index } = entry
      const shown = { type, timestamp, sequence, data: withoutShadow(data as EventDecision) } as LiveEvent
      events.push({ event: shown, log, index, positions: at })
    }
    const erased = entries
      .filter(({ type }) => type === 'request.erased')
      .map(({ subject, at: erased_at }) => ({ decision_id: subject, erased_at }))
    return { events, erased, positions }
  }

  async catchUpStatistics(): Promise<void> {
    if (!this.#isClosed) await this.#turns.join(CATCH_UP, () => this.#statistics.catchUp())
  }

  async catchUpTrees(): Promise<void> {
    if (!this.#isClosed) await this.#turns.join(CATCH_UP_TREES, () => this.#trees.catchUp())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#waking !== null) clearTimeout(this.#waking)
    await this.#poll.stop()
    const names = [...this.#parts.map(({ name }) => name), CATCH_UP, CATCH_UP_TREES]
    await Promise.all(names.map((name) => this.#turns.run(name, async () => {})))
    await this.#webhooks.close()
    await this.deps.store.releaseReaders(this.#holder)
  }
}

const IS_LIVE: ReadonlySet<string> = new Set(LIVE_TYPES)

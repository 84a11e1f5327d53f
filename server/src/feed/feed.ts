/** The feed: everything that reads the audit log after the fact. Nothing waits for it, and it changes no decision. */
import { randomUUID } from 'node:crypto'
import { type AuditEntry, type EventDecision, LIVE_TYPES, type LiveEvent } from '@countersign/contract'
import { KeyedMutex } from '../concurrency/keyed-mutex.js'
import { type Poll, poll } from '../concurrency/poll.js'
import type { CheckpointMemory } from '../ports/checkpoint-memory.js'
import type { Clock } from '../ports/clock.js'
import type { LivePage, LiveSource } from '../ports/live-page.js'
import type { Log } from '../ports/log.js'
import type { TextSignature } from '../ports/signer.js'
import type { FeedStore, Positions } from '../ports/store/feed.js'
import { behind, positionsAtEnd, readLogs } from '../use-cases/audit/log-reader.js'
import { withoutShadow } from '../use-cases/decisions/view.js'
import { type BudgetAlarm, BudgetAlarms } from './budget-alarms.js'
import { eventsOf } from './event-of.js'
import type { News } from './news.js'
import { RecentEntries, readingFrom } from './recent-entries.js'
import { Statistics } from './statistics/statistics.js'
import { type Acceptable, Trees } from './trees/trees.js'
import { Webhooks } from './webhooks/webhooks.js'

/** What the server asks of the feed, in whichever thread it runs. */
export interface FeedCalls extends LiveSource {
  /**
   * Call this after a webhook was changed. Resolves when the change applies to all deliveries that begin later.
   *
   * @throws StoreUnavailableError: nothing begins until the feed has read the change
   */
  webhooksChanged(): Promise<void>
  /** Resolves when everything that is durable now is counted, provided that this process counts. */
  catchUpStatistics(): Promise<void>
  /** Resolves when a checkpoint covers everything that is durable now, provided that this process keeps the trees. */
  catchUpTrees(): Promise<void>
  /**
   * Returns why this server neither signs nor shows checkpoints; null when the store extends what it has signed and
   * seen.
   */
  checkTrees(): Promise<string | null>
  /** Describes what an operator would accept of a rewritten log, or says why it cannot be accepted. */
  toAccept(): Promise<Acceptable>
  /** Accepts the log as the store has it. */
  acceptRewrite(): Promise<void>
  /** Resolves when no work is in progress. */
  close(): Promise<void>
}

/** The feed as the server uses it. */
export interface Feed extends FeedCalls {
  /**
   * Call this with entries that have become durable, in the order of the log, and with none when it is unknown whether
   * some have. The readers get them soon. Costs little.
   */
  written(entries: readonly AuditEntry[]): void
  /** Call this when something else may be due. */
  wake(): void
}

/** The calls that the feed makes to the server: changes go through the only mutation writer. */
export interface FeedHost {
  /** Writes an alarm to the log, unless its name is taken. */
  raise(alarm: BudgetAlarm): Promise<void>
  /** Disables a webhook whose endpoint cannot be reached. */
  disable(webhookId: string, reason: 'gone' | 'failing'): Promise<void>
  sign(text: string): Promise<TextSignature>
  /**
   * Returns the public keys, in base64url, that this server or another one on the store may have signed checkpoints
   * with, as the store has them now.
   */
  checkpointKeys(): Promise<readonly string[]>
  /** Reports that the audit log no longer extends what this server has signed, or that it does again. */
  logRewritten(isRewritten: boolean): void
  /** Reports how many logs lack an entry that no checkpoint covers. */
  logGaps(logs: number): void
}

export interface FeedDeps {
  readonly store: FeedStore
  readonly clock: Clock
  readonly log: Log
  readonly host: FeedHost
  readonly memory: CheckpointMemory
  /** Whether webhooks may have private addresses. */
  readonly allowsPrivate: boolean
  /** The issuer of the permits, and the origin of the checkpoints. */
  readonly issuer: string
  /** Whether other processes write to the store, too. */
  readonly isShared: boolean
}

/** How often each reader looks for changes of other processes, which are not announced. */
const EVERY_MS = 1000
/** A reader that has looked since then need not look again. */
const LOOKED_MS = 500
/** How often counts are saved that no other process reads. */
const SAVE_ALONE_EVERY_MS = 10_000
/** How often webhooks are read again: a change by another process applies here within a second. */
const FOLLOW_EVERY_MS = 500

/** The name under which callers wait for the statistics or for the trees. */
const CATCH_UP = 'catch up'
const CATCH_UP_TREES = 'catch up trees'

/** A part of the feed: one turn does all the pending work, or a share of it. */
interface Part {
  readonly name: string
  readonly turn: () => Promise<void>
}

/** The feed in the thread that runs it. */
export class RunningFeed implements FeedCalls {
  readonly #holder = randomUUID()
  readonly #recent: RecentEntries
  /** Its entries are read from memory where possible. */
  readonly #store: FeedStore
  readonly #parts: readonly Part[]
  readonly #webhooks: Webhooks
  readonly #turns = new KeyedMutex()
  readonly #statistics: Statistics
  readonly #trees: Trees
  readonly #polls: readonly Poll[]
  #isClosed = false
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: FeedDeps) {
    const { clock, log, host, isShared } = deps
    const monotonicMs = () => performance.now()
    this.#recent = new RecentEntries(deps.store, { isShared, monotonicMs })
    const store = readingFrom(this.#recent, deps.store)
    this.#store = store
    const readers = { store, checked: deps.store, holder: this.#holder, monotonicMs }
    const alarms = new BudgetAlarms({ ...readers, clock, raise: (alarm) => host.raise(alarm) })
    this.#webhooks = new Webhooks({
      ...readers,
      clock,
      log,
      allowsPrivate: deps.allowsPrivate,
      random: Math.random,
      disable: (id, reason) => host.disable(id, reason),
    })
    this.#statistics = new Statistics({ ...readers, clock, ...(!isShared && { saveEveryMs: SAVE_ALONE_EVERY_MS }) })
    this.#trees = new Trees({
      ...readers,
      clock,
      log,
      memory: deps.memory,
      issuer: deps.issuer,
      sign: (text) => host.sign(text),
      checkpointKeys: () => host.checkpointKeys(),
      onRewritten: (isRewritten) => host.logRewritten(isRewritten),
      onGaps: (logs) => host.logGaps(logs),
    })
    this.#parts = [
      { name: 'budget alarms', turn: () => alarms.turn() },
      { name: 'webhooks', turn: () => this.#webhooks.turn() },
      { name: 'statistics', turn: () => this.#statistics.turn() },
      { name: 'trees', turn: () => this.#trees.turn() },
    ]
    this.#polls = [
      poll(() => this.#look(), { everyMs: EVERY_MS, firstMs: 0, onError: () => {} }),
      // A failure here also occurs in a turn, which logs it.
      poll(() => this.#webhooks.follow(), { everyMs: FOLLOW_EVERY_MS, onError: () => {} }),
    ]
  }

  /** Call this after writes, and when something may be due. The work continues after the call. */
  wake(news: News): void {
    this.#recent.learn(news)
    void this.#turn()
  }

  async #look(): Promise<void> {
    if (performance.now() - this.#lookedAtMs >= LOOKED_MS) await this.#turn()
  }

  /** Runs the parts independently: none waits for another. A part that is already working gets one more turn. */
  async #turn(): Promise<void> {
    if (this.#isClosed) return
    this.#lookedAtMs = performance.now()
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
    const store = this.#store
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

  async webhooksChanged(): Promise<void> {
    if (!this.#isClosed) await this.#webhooks.changed()
  }

  async catchUpStatistics(): Promise<void> {
    if (!this.#isClosed) await this.#turns.join(CATCH_UP, () => this.#statistics.catchUp())
  }

  async catchUpTrees(): Promise<void> {
    if (!this.#isClosed) await this.#turns.join(CATCH_UP_TREES, () => this.#trees.catchUp())
  }

  checkTrees(): Promise<string | null> {
    return this.#trees.check()
  }

  toAccept(): Promise<Acceptable> {
    return this.#trees.toAccept()
  }

  acceptRewrite(): Promise<void> {
    // The log as the store has it is accepted, and not as this process has written it.
    this.#recent.forget()
    return this.#trees.acceptRewrite()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#polls.map((one) => one.stop()))
    const names = [...this.#parts.map(({ name }) => name), CATCH_UP, CATCH_UP_TREES]
    await Promise.all(names.map((name) => this.#turns.run(name, async () => {})))
    await this.#webhooks.close()
    await this.deps.store.readers.release(this.#holder)
  }
}

const IS_LIVE: ReadonlySet<string> = new Set(LIVE_TYPES)

/** Starts the feed in its own thread, or in this one. */
import { Worker } from 'node:worker_threads'
import { CheckpointFile } from '../adapters/checkpoint-memory/checkpoint-file.js'
import type { BudgetAlarm } from '../feed/budget-alarms.js'
import { type Feed, type FeedCalls, type FeedHost, RunningFeed } from '../feed/feed.js'
import { type News, NewsDesk } from '../feed/news.js'
import { remote, ThreadCalls } from '../feed/thread-calls.js'
import type { Clock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import { ConflictError } from '../ports/store/store.js'
import { disableWebhook } from '../use-cases/webhooks/disable.js'
import type { FeedThreadData, FeedThreadHost } from './feed-thread.js'
import type { Core } from './live-state.js'
import type { FeedThreadStore } from './store.js'

const RESTART_AFTER_MS = 1000

/** @param thread null: the feed runs in this thread */
export function startFeed(core: Core, thread: FeedThreadStore | null): Feed {
  const { store, clock, log, config } = core
  const host = feedHost(core)
  const allowsPrivate = config.webhookAllowPrivate
  const { issuer } = core.permits
  const isShared = config.mongodbUrl !== null
  const nowMs = () => performance.now()
  if (thread === null) {
    const memory = new CheckpointFile(config.dataDir)
    const running = new RunningFeed({ store, clock, log, host, memory, allowsPrivate, issuer, isShared })
    return toldBy(new NewsDesk({ send: (news) => running.wake(news), hasArrived: () => true, nowMs }), running)
  }
  const { address, connectWriter } = thread
  const own = {
    ...host,
    connectWriter,
    log: (level: keyof Log, fields: object, message: string) => log[level](fields, message),
  }
  const data = { store: address, dataDir: config.dataDir, allowsPrivate, issuer, isShared }
  const running = new FeedThread(data, own satisfies FeedThreadHost, clock, log)
  const desk = new NewsDesk({ send: (news) => running.send(news), hasArrived: () => running.hasReceived, nowMs })
  return toldBy(
    desk,
    remote<FeedCalls>(() => running.calls, { close: () => running.close() }),
  )
}

/** A feed that knows everything that was written before it is asked. */
function toldBy(desk: NewsDesk, feed: FeedCalls): Feed {
  const told = () => {
    desk.flush()
    return feed
  }
  return {
    written: (entries) => desk.written(entries),
    wake: () => desk.wake(),
    readEvents: (from, limit) => told().readEvents(from, limit),
    webhooksChanged: () => told().webhooksChanged(),
    catchUpStatistics: () => told().catchUpStatistics(),
    catchUpTrees: () => told().catchUpTrees(),
    checkTrees: () => told().checkTrees(),
    toAccept: () => told().toAccept(),
    acceptRewrite: () => told().acceptRewrite(),
    close() {
      desk.stop()
      return feed.close()
    },
  }
}

function feedHost({ clock, ids, store, writer, changes, signer, metrics }: Core): FeedHost {
  let isRewritten = false
  let gaps = 0
  metrics.watchLogRewritten(() => isRewritten)
  metrics.watchLogGaps(() => gaps)
  return {
    async raise({ type, name, until, policyId, agentId, data }: BudgetAlarm) {
      const at = clock.now().toISOString()
      const taken = { key_id: '', operation: type, key: name, fingerprint: '', status: 0, subject: policyId }
      const entry = { at, type, actor: null, subject: policyId, agent_id: agentId, data }
      const idempotency = { ...taken, created_at: at, expires_at: until }
      try {
        await writer.write({ entry, change: { kind: 'entry.only' }, idempotency })
      } catch (error) {
        // The alarm was raised before.
        if (!(error instanceof ConflictError && error.conflict === 'idempotency_key')) throw error
      }
    },
    disable: (id, reason) => disableWebhook({ clock, ids, store, writer, changes }, id, reason),
    sign: (text) => signer.signText(text),
    checkpointKeys: () => signer.checkpointKeys(),
    logRewritten(now) {
      isRewritten = now
    },
    logGaps(now) {
      gaps = now
    },
  }
}

/** Runs the feed in its own thread. A thread that ends is started again, and its work continues from the store. */
class FeedThread {
  /** How many messages with news the thread has not received yet. */
  readonly #unread = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #thread!: Worker
  calls!: ThreadCalls
  #restart: NodeJS.Timeout | undefined
  #isClosing = false

  constructor(
    private readonly data: Omit<FeedThreadData, 'unread' | 'nowMs'>,
    private readonly own: FeedThreadHost,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.#start()
  }

  send(news: News): void {
    Atomics.add(this.#unread, 0, 1)
    this.calls.tell('wake', this.#nowMs(), news)
  }

  get hasReceived(): boolean {
    return Atomics.load(this.#unread, 0) === 0
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#restart)
    await this.calls.ask('close', []).catch((err) => this.log.error({ err }, 'the feed could not be closed in order'))
    await this.#thread.terminate()
  }

  /**
   * The thread's own clock could lag the server, whose time may come from the store, so the server's time is passed to
   * it.
   */
  #nowMs(): number {
    return this.clock.now().getTime()
  }

  #start(): void {
    // Flags such as --input-type are for the program that starts the server, and would stop the thread.
    const unread = this.#unread.buffer as SharedArrayBuffer
    Atomics.store(this.#unread, 0, 0)
    const workerData: FeedThreadData = { ...this.data, unread, nowMs: this.#nowMs() }
    const thread = new Worker(new URL('./feed-thread.js', import.meta.url), { workerData, execArgv: [] })
    const calls = new ThreadCalls(thread, { ...this.own })
    this.#thread = thread
    this.calls = calls
    thread.on('error', (err) => this.log.error({ err }, 'the thread of the feed failed; it starts again'))
    thread.once('exit', () => {
      calls.end(new StoreUnavailableError('The feed is not running.'))
      if (!this.#isClosing) this.#restart = setTimeout(() => this.#start(), RESTART_AFTER_MS).unref()
    })
    // Called after the listeners are added, because a message listener keeps the process alive again.
    thread.unref()
  }
}

/** Starts the feed: in a thread of its own, or in this one. */
import { Worker } from 'node:worker_threads'
import { ConflictError, StoreUnavailableError } from '@countersign/store-port/store'
import type { BudgetAlarm } from '../feed/budget-alarms.js'
import { type Feed, type FeedHost, RunningFeed } from '../feed/feed.js'
import { ThreadCalls } from '../feed/thread-calls.js'
import type { Clock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
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
  if (thread === null) return new RunningFeed({ store: store.feed, clock, log, host, allowsPrivate, issuer })
  const { address, connectWriter } = thread
  const own = {
    ...host,
    connectWriter,
    log: (level: keyof Log, fields: object, message: string) => log[level](fields, message),
  }
  return new FeedThread({ store: address, allowsPrivate, issuer }, own satisfies FeedThreadHost, clock, log)
}

function feedHost({ clock, store, writer, changes, signer }: Core): FeedHost {
  return {
    async raise({ type, name, until, policyId, agentId, data }: BudgetAlarm) {
      const at = clock.now().toISOString()
      const taken = { key_id: '', operation: type, key: name, fingerprint: '', status: 0, subject: policyId }
      const entry = { at, type, actor: null, subject: policyId, agent_id: agentId, data }
      const idempotency = { ...taken, created_at: at, expires_at: until }
      try {
        await writer.write({ entry, change: () => ({ kind: 'entry.only' }), idempotency })
      } catch (error) {
        // It was raised before.
        if (!(error instanceof ConflictError && error.conflict === 'idempotency_key')) throw error
      }
    },
    disable: (id, reason) => disableWebhook({ clock, store, writer, changes }, id, reason),
    sign: (text) => signer.signText(text),
  }
}

/** The feed in a thread of its own. A thread that ends is started again: everything goes on from the store. */
class FeedThread implements Feed {
  /** A wake that the thread has not seen yet stands for all that come meanwhile. */
  readonly #flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #thread!: Worker
  #calls!: ThreadCalls
  #remote!: Feed
  #restart: NodeJS.Timeout | undefined
  #isClosing = false

  constructor(
    private readonly data: Omit<FeedThreadData, 'wanted' | 'nowMs'>,
    private readonly own: FeedThreadHost,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.#start()
  }

  wake(): void {
    if (Atomics.exchange(this.#flag, 0, 1) === 0) this.#calls.tell('wake', this.#nowMs())
  }

  readEvents(...parameters: Parameters<Feed['readEvents']>) {
    return this.#remote.readEvents(...parameters)
  }

  catchUpStatistics(): Promise<void> {
    return this.#remote.catchUpStatistics()
  }

  catchUpTrees(): Promise<void> {
    return this.#remote.catchUpTrees()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#restart)
    await this.#remote.close().catch((err) => this.log.error({ err }, 'the feed could not be closed in order'))
    await this.#thread.terminate()
  }

  /** The thread has a clock of its own. It is told the server's time, so that it is never behind: the server may live in the store's time. */
  #nowMs(): number {
    return this.clock.now().getTime()
  }

  #start(): void {
    // Flags such as --input-type are for the program that starts the server, and would stop the thread.
    const wanted = this.#flag.buffer as SharedArrayBuffer
    const workerData: FeedThreadData = { ...this.data, wanted, nowMs: this.#nowMs() }
    const thread = new Worker(new URL('./feed-thread.js', import.meta.url), { workerData, execArgv: [] })
    const calls = new ThreadCalls(thread, { ...this.own })
    this.#thread = thread
    this.#calls = calls
    this.#remote = calls.remote<Feed>()
    thread.on('error', (err) => this.log.error({ err }, 'the thread of the feed failed; it starts again'))
    thread.once('exit', () => {
      calls.end(new StoreUnavailableError('The feed is not running.'))
      Atomics.store(this.#flag, 0, 0)
      if (!this.#isClosing) this.#restart = setTimeout(() => this.#start(), RESTART_AFTER_MS).unref()
    })
    // After the listeners: a listener of messages keeps the process alive again.
    thread.unref()
  }
}

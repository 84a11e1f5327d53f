import { withDeadline } from '../../concurrency/with-deadline.js'
import type { StoredDelivery, StoredWebhook } from '../../ports/store/documents.js'
import type { FeedStore } from '../../ports/store/feed.js'
import { findWebhook } from '../../ports/store/webhooks.js'
import { type Attempt, afterAttempt } from './delivery.js'
import { asksFor, DeliveryReader, type DeliveryReaderDeps, readerNameOf, type Span } from './delivery-reader.js'
import { failedAgain, isTooLong, lengthMs } from './failing-run.js'
import { MAX_CONNECTIONS, Sender, type SenderOptions, WithdrawnError } from './sender.js'
import { requestPartsOf } from './shown-response.js'
import { deliveryHeaders, secretsAt } from './signature.js'

export interface EndpointDeps extends DeliveryReaderDeps, Omit<SenderOptions, 'clock'> {
  readonly store: FeedStore
  /** Returns a number from 0 up to 1. */
  readonly random: () => number
  /** Disables a webhook whose endpoint cannot be reached. Resolves when that is durable. */
  readonly disable: (webhookId: string, reason: 'gone' | 'failing') => Promise<void>
  /** False while a reported change of a webhook has not been read yet. */
  readonly mayStart: () => boolean
  /** Called with the error of a failed round. The next wake tries again. */
  readonly onError: (webhookId: string, error: unknown) => void
}

/** The most deliveries that wait for their turn. Beyond that nothing is read: the backlog is the log. */
const WINDOW = 100
/** Attempts that end within this time are written together, because each write syncs the disk. */
const GATHERED_MS = 50
/** Poll interval for deliveries that become due or are retried by hand. Slightly under the 1 s timer, which may fire early. */
const LOOKED_EVERY_MS = 900
/** An endpoint that fails for this long gets one new event every few seconds until one succeeds. The others wait in the log. */
const SLOWED_AFTER_MS = 60_000
const SLOWED_TO_MS = 5000
/** How often the feed requests that a webhook be disabled, until it is. */
const DISABLED_EVERY_MS = 5000
const KEPT_MS = 30 * 86_400_000
const HOUR_MS = 3_600_000

const NO_EVENT = 'The event can no longer be created: its object was removed.'
const NOT_ASKED_FOR = 'It was not sent: the webhook no longer receives events of this type.'

/** An attempt that has ended but is not written yet. */
interface Ended {
  readonly delivery: StoredDelivery
  readonly attempt: Attempt
  /** When the webhook was last enabled: attempts before that time do not count. */
  readonly enabledAt: string
}

/** Sends to one webhook, independently of all other webhooks. */
export class Endpoint {
  #webhook: StoredWebhook
  #sender: Sender
  /** The senders of former URLs, while they still send. */
  #former: readonly Sender[] = []
  #reader: DeliveryReader
  readonly #replays = new Map<string, DeliveryReader>()
  /** Finished replays, until they are no longer listed: holding one would restart it. */
  readonly #over = new Set<string>()
  /** The names of its readers in the store, as last seen. */
  #names: readonly string[] = []
  /** Due deliveries, the longest overdue first. */
  #ready: StoredDelivery[] = []
  readonly #sending = new Set<Promise<void>>()
  #ended: Ended[] = []
  /** The ids of all deliveries that are ready, being sent, or waiting to be written. */
  readonly #claimed = new Set<string>()
  #disabling: 'gone' | 'failing' | null = null
  #isWanted = false
  #gathering: NodeJS.Timeout | null = null
  #isGathered = false
  #rounds: Promise<void> | null = null
  #isClosed = false
  #isAborted = false
  #lookAtMs = 0
  #slowedAtMs = 0
  #disableAtMs = 0
  #removeAtMs = 0

  constructor(
    private readonly deps: EndpointDeps,
    webhook: StoredWebhook,
  ) {
    this.#webhook = webhook
    this.#sender = new Sender(webhook.url, deps)
    this.#reader = this.#mainReader()
  }

  /**
   * Applies the webhook as it is now, and the names of its readers. Requests without a connection start over with the
   * new webhook.
   */
  update(webhook: StoredWebhook, names: readonly string[]): void {
    const { url, enabled_at, version } = this.#webhook
    this.#webhook = webhook
    this.#names = names
    if (webhook.version !== version) this.#sender.withdraw()
    if (webhook.disabled !== null) this.#drop()
    if (webhook.url !== url) {
      this.#sender.close()
      this.#former = [...this.#former.filter(({ isIdle }) => !isIdle), this.#sender]
      this.#sender = new Sender(webhook.url, this.deps)
    }
    if (webhook.enabled_at !== enabled_at) this.#reader = this.#mainReader()
    if (webhook.enabled_at !== enabled_at || webhook.disabled !== null) this.#disabling = null
    for (const name of this.#over) if (!names.includes(name)) this.#over.delete(name)
    for (const name of names) this.#addReplay(name)
  }

  /** Call this when there may be work. Returns at once. */
  wake(): void {
    this.#isWanted = true
    if (this.#isClosed) return
    this.#rounds ??= this.#run().finally(() => {
      this.#rounds = null
      // Covers a wake that came between the last look and this point.
      if (this.#isWanted) this.wake()
    })
  }

  /**
   * Starts nothing more. Resolves when everything that was sent is written; deliveries without an answer within
   * `graceMs` will be sent once more.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    this.#sender.withdraw()
    await withDeadline(Promise.all(this.#sending), graceMs, () => new Error('It took too long.')).catch(() => {})
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    this.#isAborted = true
    for (const sender of [...this.#former, this.#sender]) sender.abort()
    await Promise.all(this.#sending)
    await this.#rounds
    await this.#write().catch((error) => this.deps.onError(this.#webhook.id, error))
  }

  async #run(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false
      try {
        await this.#round()
      } catch (error) {
        this.deps.onError(this.#webhook.id, error)
        // A wake that came during the turn would meet the same fault; the next turn tries again.
        this.#isWanted = false
      }
    }
  }

  async #round(): Promise<void> {
    if (this.#isGathered || this.#disabling !== null) await this.#write()
    await this.#removeOld()
    if (this.#webhook.disabled !== null) return this.#retire()
    if (this.#disabling !== null) return this.#disable(this.#disabling)
    if (!(await this.#reader.hold())) return this.#drop()
    await this.#fill()
    await this.#lookForDue()
    this.#start()
  }

  /** Creates new deliveries, as far as there is room: first of new events, then of replays. */
  async #fill(): Promise<void> {
    for (const reader of [this.#reader, ...this.#replays.values()]) {
      const room = this.#room()
      if (room === 0) return
      if (!(await reader.hold())) continue
      const deliveries = reader.isDone ? [] : await reader.read(() => this.#webhook, room)
      this.#claim(deliveries)
      if (deliveries.length > 0) this.#slowedAtMs = this.#nowMs() + SLOWED_TO_MS
      if (reader.isDone) await this.#end(reader)
      else if (reader.hasMore && this.#room() > 0) this.#isWanted = true
    }
  }

  #room(): number {
    const { failing } = this.#reader
    if (failing !== null && lengthMs(failing) >= SLOWED_AFTER_MS) return this.#nowMs() < this.#slowedAtMs ? 0 : 1
    // Creates several at a time, because each save is a write.
    const waiting = this.#ready.length
    return waiting > WINDOW / 2 ? 0 : WINDOW - waiting
  }

  async #lookForDue(): Promise<void> {
    const nowMs = this.#nowMs()
    if (nowMs < this.#lookAtMs || this.#ready.length >= WINDOW) return
    const limit = WINDOW + this.#claimed.size
    const due = await this.deps.store.deliveries.listDue(this.#webhook.id, new Date(nowMs).toISOString(), limit)
    this.#claim(due.filter(({ id }) => !this.#claimed.has(id)))
    if (due.length < limit) this.#lookAtMs = nowMs + LOOKED_EVERY_MS
  }

  #claim(deliveries: readonly StoredDelivery[]): void {
    for (const delivery of deliveries) {
      this.#claimed.add(delivery.id)
      this.#ready.push(delivery)
    }
  }

  /** Drops deliveries that have not begun: another process has the reader, or the webhook is disabled. */
  #drop(): void {
    for (const { id } of this.#ready) this.#claimed.delete(id)
    this.#ready = []
  }

  #mayStart(): boolean {
    return !this.#isClosed && this.#disabling === null && this.#webhook.disabled === null && this.deps.mayStart()
  }

  #start(): void {
    while (this.#mayStart() && this.#sending.size < MAX_CONNECTIONS) {
      const delivery = this.#ready.shift()
      if (delivery === undefined) return
      const sending = this.#attempt(delivery).finally(() => {
        this.#sending.delete(sending)
        this.#start()
        this.#wakeSoon()
      })
      this.#sending.add(sending)
    }
  }

  /**
   * Wakes soon after an attempt has ended, to write it. Then there may also be room to read on, or a webhook to
   * disable.
   */
  #wakeSoon(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null
      this.#isGathered = true
      this.wake()
    }, GATHERED_MS).unref()
    if (this.#disabling !== null || (this.#reader.hasMore && this.#room() > 0)) this.wake()
  }

  async #attempt(delivery: StoredDelivery): Promise<void> {
    const { clock, source } = this.deps
    const webhook = this.#webhook
    try {
      const body = await source.bodyOf(delivery, webhook)
      // The webhook may have changed since. From here to the signature and the connection there is no await.
      if (webhook.version !== this.#webhook.version || !this.#mayStart()) return this.#giveBack(delivery)
      const now = clock.now()
      const error = !asksFor(webhook, delivery.event) ? NOT_ASKED_FOR : body === null ? NO_EVENT : null
      const result =
        error !== null || body === null
          ? { status: null, error, response: null, retryAfterMs: null, durationMs: 0 }
          : await this.#sender.send(headersOf(delivery, webhook, now, body), body, requestPartsOf(body))
      if (this.#isAborted) return
      const attempt = { ...result, at: now.toISOString(), endedAt: clock.now(), isLast: error !== null }
      this.#ended.push({ delivery, attempt, enabledAt: webhook.enabled_at })
      if (result.status === 410 && webhook.enabled_at === this.#webhook.enabled_at) this.#disabling = 'gone'
    } catch (error) {
      if (error instanceof WithdrawnError) return this.#giveBack(delivery)
      // The store did not answer, so the delivery is still due.
      this.#claimed.delete(delivery.id)
      this.deps.onError(webhook.id, error)
    }
  }

  /**
   * Returns a delivery that was not attempted: it is the next to start, or still due when the webhook is enabled again.
   */
  #giveBack(delivery: StoredDelivery): void {
    if (this.#isClosed || this.#webhook.disabled !== null) this.#claimed.delete(delivery.id)
    else this.#ready.unshift(delivery)
  }

  /** Writes all attempts that have ended, and acts on their results. */
  async #write(): Promise<void> {
    this.#isGathered = false
    const ended = [...this.#ended]
    if (ended.length === 0) return
    const after = ended.map(({ delivery, attempt }) => afterAttempt(delivery, attempt, this.deps.random))
    try {
      const written = new Set(await this.deps.store.deliveries.update(after))
      for (const one of ended) if (!written.has(one.delivery.id)) await this.#writeAgain(one)
    } catch (error) {
      this.#isGathered = true
      throw error
    }
    this.#ended.splice(0, ended.length)
    for (const one of ended) {
      this.#claimed.delete(one.delivery.id)
      this.#conclude(one)
    }
  }

  /** The delivery was changed in between, or an earlier call has written it although it failed. */
  async #writeAgain({ delivery, attempt }: Ended): Promise<void> {
    const found = await this.deps.store.deliveries.get(delivery.id)
    if (found === null || found.status !== 'pending') return
    if (found.attempts.some(({ at }) => at === attempt.at)) return
    await this.deps.store.deliveries.update([afterAttempt(found, attempt, this.deps.random)])
  }

  #conclude({ attempt, enabledAt }: Ended): void {
    if (enabledAt !== this.#webhook.enabled_at || attempt.isLast) return
    if (attempt.error === null) {
      this.#reader.failing = null
      return
    }
    const failing = failedAgain(this.#reader.failing, attempt.endedAt.toISOString())
    this.#reader.failing = failing
    if (isTooLong(failing)) this.#disabling ??= 'failing'
  }

  /** Repeats the request until the webhook is disabled. */
  async #disable(reason: 'gone' | 'failing'): Promise<void> {
    this.#drop()
    if (this.#nowMs() < this.#disableAtMs) return
    this.#disableAtMs = this.#nowMs() + DISABLED_EVERY_MS
    await this.deps.disable(this.#webhook.id, reason)
  }

  /**
   * Stops a disabled webhook: it reads nothing, and its replays end. Its own reader is not removed: when the webhook is
   * enabled again, it begins at that time.
   */
  async #retire(): Promise<void> {
    this.#drop()
    for (const name of this.#names) if (name !== this.#reader.name) await this.deps.store.readers.remove(name)
    for (const name of this.#replays.keys()) this.#over.add(name)
    this.#replays.clear()
    this.#names = []
  }

  async #end({ name }: DeliveryReader): Promise<void> {
    await this.deps.store.readers.remove(name)
    this.#over.add(name)
    this.#replays.delete(name)
  }

  async #removeOld(): Promise<void> {
    const nowMs = this.#nowMs()
    if (nowMs < this.#removeAtMs) return
    const removed = await this.deps.store.deliveries.remove(this.#webhook.id, new Date(nowMs - KEPT_MS).toISOString())
    this.#removeAtMs = nowMs + (removed > 0 ? LOOKED_EVERY_MS : HOUR_MS)
  }

  #mainReader(): DeliveryReader {
    const { id, enabled_at } = this.#webhook
    const isStillEnabled = async () => {
      const stored = await findWebhook(this.deps.store.webhooks, id)
      return stored?.disabled === null && stored.enabled_at === enabled_at
    }
    return new DeliveryReader(this.deps, readerNameOf(id), { since: enabled_at, until: null }, isStillEnabled)
  }

  #addReplay(name: string): void {
    if (this.#webhook.disabled !== null || this.#replays.has(name) || this.#over.has(name)) return
    const span = spanOf(name)
    if (span !== null) this.#replays.set(name, new DeliveryReader(this.deps, name, span))
  }

  #nowMs(): number {
    return this.deps.clock.now().getTime()
  }
}

/** The name of a replay contains its span: `replay/<webhook>/<since>/<until>/<random>`. */
function spanOf(name: string): Span | null {
  const [kind, , since, until] = name.split('/')
  return kind === 'replay' && since !== undefined && until !== undefined ? { since, until } : null
}

function headersOf({ event }: StoredDelivery, { secrets }: StoredWebhook, at: Date, body: Buffer) {
  return deliveryHeaders({ id: event.id, at, body }, secretsAt(secrets, at.toISOString()))
}

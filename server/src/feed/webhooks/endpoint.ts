import type { StoredDelivery, StoredWebhook } from '@countersign/store-port/documents'
import type { FeedReads, FeedWrites } from '@countersign/store-port/feed'
import { type Attempt, afterAttempt } from './delivery.js'
import { DeliveryReader, type DeliveryReaderDeps, readerNameOf, type Span } from './delivery-reader.js'
import { failedAgain, isTooLong, lengthMs } from './failing-run.js'
import { MAX_CONNECTIONS, Sender, type SenderOptions } from './sender.js'
import { requestPartsOf } from './shown-response.js'
import { secretsAt, signatureHeaders } from './signature.js'

export interface EndpointDeps extends DeliveryReaderDeps, Omit<SenderOptions, 'clock'> {
  readonly store: FeedReads & FeedWrites
  /** From 0 up to 1. */
  readonly random: () => number
  /** Disables a webhook that cannot be reached. Resolves when that is durable. */
  readonly disable: (webhookId: string, reason: 'gone' | 'failing') => Promise<void>
  /** Gets what a round failed with. The next wake tries again. */
  readonly onError: (webhookId: string, error: unknown) => void
}

/** Deliveries that wait for their turn. Beyond it nothing is read: the backlog is the log. */
const WINDOW = 100
/** Attempts that end within this time are written together: each write is one of the disk. */
const GATHERED_MS = 50
/** Deliveries that become due, or that somebody retries, are looked for so often. A timer of a second may be a little early. */
const LOOKED_EVERY_MS = 900
/** An endpoint that fails for so long gets one new event each few seconds, until one succeeds: the others wait in the log. */
const SLOWED_AFTER_MS = 60_000
const SLOWED_TO_MS = 5000
/** Until it is seen that a webhook is disabled, it is asked for so often. */
const DISABLED_EVERY_MS = 5000
const KEPT_MS = 30 * 86_400_000
const HOUR_MS = 3_600_000

const NO_EVENT = 'The event cannot be made any more: what it tells of has been removed.'

/** An attempt that has ended, and is to be written. */
interface Ended {
  readonly delivery: StoredDelivery
  readonly attempt: Attempt
  /** Since when the webhook was enabled: what it did before it was enabled again does not count. */
  readonly enabledAt: string
}

/** Sends to one webhook. It waits for nobody else, and nobody waits for it. */
export class Endpoint {
  #webhook: StoredWebhook
  #sender: Sender
  /** Of former URLs, as long as they still send. */
  #former: readonly Sender[] = []
  #reader: DeliveryReader
  readonly #replays = new Map<string, DeliveryReader>()
  /** Replays that are over, until nobody lists them any more: to hold one would make it anew. */
  readonly #over = new Set<string>()
  /** Names of its readers in the store, as last seen. */
  #names: readonly string[] = []
  /** Due, the longest overdue first. */
  #ready: StoredDelivery[] = []
  readonly #sending = new Set<Promise<void>>()
  #ended: Ended[] = []
  /** Ids of all that is ready, being sent, or to be written. */
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

  /** The webhook as it is now, and the names of its readers. */
  update(webhook: StoredWebhook, names: readonly string[]): void {
    const { url, enabled_at } = this.#webhook
    this.#webhook = webhook
    this.#names = names
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

  /** There may be something to do. Returns at once. */
  wake(): void {
    this.#isWanted = true
    if (this.#isClosed) return
    this.#rounds ??= this.#run().finally(() => {
      this.#rounds = null
      // Between the last look and here.
      if (this.#isWanted) this.wake()
    })
  }

  /** Starts nothing more. Resolves when what was sent is written; what has no answer within `graceMs` will be sent once more. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    let timer: NodeJS.Timeout | undefined
    const graceOver = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs)
    })
    await Promise.race([Promise.all(this.#sending), graceOver])
    clearTimeout(timer)
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
        // Whatever came meanwhile would meet the same fault: the next turn tries again.
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

  /** New deliveries, as far as there is room: first of what happens now, then of replays. */
  async #fill(): Promise<void> {
    for (const reader of [this.#reader, ...this.#replays.values()]) {
      const room = this.#room()
      if (room === 0) return
      if (!(await reader.hold())) continue
      const deliveries = reader.isDone ? [] : await reader.read(this.#webhook, room)
      this.#claim(deliveries)
      if (deliveries.length > 0) this.#slowedAtMs = this.#nowMs() + SLOWED_TO_MS
      if (reader.isDone) await this.#end(reader)
      else if (reader.hasMore && this.#room() > 0) this.#isWanted = true
    }
  }

  #room(): number {
    const { failing } = this.#reader
    if (failing !== null && lengthMs(failing) >= SLOWED_AFTER_MS) return this.#nowMs() < this.#slowedAtMs ? 0 : 1
    // Several at a time: each save is a write.
    const waiting = this.#ready.length
    return waiting > WINDOW / 2 ? 0 : WINDOW - waiting
  }

  async #lookForDue(): Promise<void> {
    const nowMs = this.#nowMs()
    if (nowMs < this.#lookAtMs || this.#ready.length >= WINDOW) return
    const limit = WINDOW + this.#claimed.size
    const due = await this.deps.store.listDue(this.#webhook.id, new Date(nowMs).toISOString(), limit)
    this.#claim(due.filter(({ id }) => !this.#claimed.has(id)))
    if (due.length < limit) this.#lookAtMs = nowMs + LOOKED_EVERY_MS
  }

  #claim(deliveries: readonly StoredDelivery[]): void {
    for (const delivery of deliveries) {
      this.#claimed.add(delivery.id)
      this.#ready.push(delivery)
    }
  }

  /** Gives up what is not begun: another process has the reader, or the webhook is disabled. */
  #drop(): void {
    for (const { id } of this.#ready) this.#claimed.delete(id)
    this.#ready = []
  }

  #start(): void {
    while (!this.#isClosed && this.#disabling === null && this.#sending.size < MAX_CONNECTIONS) {
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

  /** An attempt has ended: it is written soon. Meanwhile there may be room to read on, or somebody to tell. */
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
      const now = clock.now()
      const body = await source.bodyOf(delivery, webhook)
      const result =
        body === null
          ? { status: null, error: NO_EVENT, response: null, retryAfterMs: null, durationMs: 0 }
          : await this.#sender.send(headersOf(delivery, webhook, now, body), body, requestPartsOf(body))
      if (this.#isAborted) return
      const attempt = { ...result, at: now.toISOString(), endedAt: clock.now(), isLast: body === null }
      this.#ended.push({ delivery, attempt, enabledAt: webhook.enabled_at })
      if (result.status === 410 && webhook.enabled_at === this.#webhook.enabled_at) this.#disabling = 'gone'
    } catch (error) {
      // The store did not answer. It is still due.
      this.#claimed.delete(delivery.id)
      this.deps.onError(webhook.id, error)
    }
  }

  /** Writes the attempts that have ended, all at once, and draws the conclusions. */
  async #write(): Promise<void> {
    this.#isGathered = false
    const ended = [...this.#ended]
    if (ended.length === 0) return
    const after = ended.map(({ delivery, attempt }) => afterAttempt(delivery, attempt, this.deps.random))
    try {
      const written = new Set(await this.deps.store.updateDeliveries(after))
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

  /** Somebody has changed the delivery meanwhile, or an earlier call has written it although it failed. */
  async #writeAgain({ delivery, attempt }: Ended): Promise<void> {
    const found = await this.deps.store.findDelivery(delivery.id)
    if (found === null || found.status !== 'pending') return
    if (found.attempts.some(({ at }) => at === attempt.at)) return
    await this.deps.store.updateDeliveries([afterAttempt(found, attempt, this.deps.random)])
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

  /** Again and again, until the webhook is seen disabled. */
  async #disable(reason: 'gone' | 'failing'): Promise<void> {
    this.#drop()
    if (this.#nowMs() < this.#disableAtMs) return
    this.#disableAtMs = this.#nowMs() + DISABLED_EVERY_MS
    await this.deps.disable(this.#webhook.id, reason)
  }

  /**
   * A disabled webhook reads nothing, and its replays are over. Its own reader stays as it is: when the webhook is enabled
   * again, it begins at that time.
   */
  async #retire(): Promise<void> {
    this.#drop()
    for (const name of this.#names) if (name !== this.#reader.name) await this.deps.store.removeReader(name)
    for (const name of this.#replays.keys()) this.#over.add(name)
    this.#replays.clear()
    this.#names = []
  }

  async #end({ name }: DeliveryReader): Promise<void> {
    await this.deps.store.removeReader(name)
    this.#over.add(name)
    this.#replays.delete(name)
  }

  async #removeOld(): Promise<void> {
    const nowMs = this.#nowMs()
    if (nowMs < this.#removeAtMs) return
    const removed = await this.deps.store.removeDeliveries(this.#webhook.id, new Date(nowMs - KEPT_MS).toISOString())
    this.#removeAtMs = nowMs + (removed > 0 ? LOOKED_EVERY_MS : HOUR_MS)
  }

  #mainReader(): DeliveryReader {
    const { id, enabled_at } = this.#webhook
    const isStillEnabled = async () => {
      const stored = (await this.deps.store.loadWebhooks()).find((webhook) => webhook.id === id)
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

/** A replay names its span: `replay/<webhook>/<since>/<until>/<random>`. */
function spanOf(name: string): Span | null {
  const [kind, , since, until] = name.split('/')
  return kind === 'replay' && since !== undefined && until !== undefined ? { since, until } : null
}

function headersOf({ event }: StoredDelivery, { secrets }: StoredWebhook, at: Date, body: Buffer) {
  return {
    'content-type': 'application/json',
    'user-agent': 'Countersign',
    ...signatureHeaders({ id: event.id, at, body }, secretsAt(secrets, at.toISOString())),
  }
}

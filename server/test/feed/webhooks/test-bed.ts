import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditType, EventType, JsonObject } from '@countersign/contract'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'
import { Webhooks, type WebhooksDeps } from '#server/feed/webhooks/webhooks'
import type { StoredDecision, StoredDelivery, StoredWebhook } from '#server/ports/store/documents'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { FeedStore } from '#server/ports/store/feed'
import type { Store } from '#server/ports/store/store'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { generateWebhookSecret } from '#server/webhook-secret'
import { createOf, decisionOf, idOf, LogPen, requestOf, webhookOf, writeWebhookOf } from '../../store-suite/index.js'
import { withCalls } from '../../with-calls.js'
import { type Answer, type Received, type Receiver, startReceiver } from './receiver.js'

/** Time that the test moves. */
class TestClock {
  #ms: number

  /** Now, by default: the published library refuses what it takes for old. */
  constructor(start = Date.now()) {
    this.#ms = start
  }
  now(): Date {
    return new Date(this.#ms)
  }
  advance(milliseconds: number): void {
    this.#ms += milliseconds
  }
  set(time: string): void {
    this.#ms = Date.parse(time)
  }
  text(): string {
    return this.now().toISOString()
  }
}

export interface LogLine {
  readonly level: string
  readonly message: string
}

type Options = Partial<Omit<WebhooksDeps, 'clock' | 'log' | 'holder'>>

/** A real store, and the webhooks of one process that work on it. */
export class TestBed {
  readonly clock = new TestClock()
  readonly lines: LogLine[] = []
  /** What the host was asked to disable, and has. */
  readonly disabled: { readonly id: string; readonly reason: string }[] = []
  webhooks: Webhooks
  #holders = 0
  #decisions = 0
  #webhooks = 0
  readonly #dir: string

  private constructor(
    dir: string,
    readonly store: Store,
    readonly pen: LogPen,
    private readonly options: Options,
  ) {
    this.#dir = dir
    this.webhooks = this.#start(options)
  }

  static async open(options: Options = {}): Promise<TestBed> {
    const dir = mkdtempSync(join(tmpdir(), 'webhooks-'))
    const store = await openSqliteStore({ dataDir: dir })
    return new TestBed(dir, store, await LogPen.of(store), options)
  }

  get feed(): FeedStore {
    return this.store
  }

  #start(options: Options): Webhooks {
    this.#holders += 1
    const write = (level: string) => (_fields: object, message: string) => void this.lines.push({ level, message })
    return new Webhooks({
      store: this.feed,
      checked: this.feed,
      clock: this.clock,
      log: { info: write('info'), warn: write('warn'), error: write('error') },
      holder: `holder ${this.#holders}`,
      monotonicMs: () => performance.now(),
      random: () => 0.5,
      allowsPrivate: true,
      disable: (id, reason) => this.#disable(id, reason),
      ...options,
    })
  }

  async close(): Promise<void> {
    this.#setClosed()
    await Promise.all([this.webhooks.close(), ...this.#former])
    await this.store.close()
    rmSync(this.#dir, { recursive: true })
  }

  /** Another process beside the first one. It does what it is told by `turn`. */
  startSecond(): Webhooks {
    const second = this.#start(this.options)
    this.#former.push(this.#closed.then(() => second.close()))
    return second
  }

  /** Another process takes over. Nothing that the one before still does counts for it. */
  async takeOver(options: Options = this.options): Promise<void> {
    const former = this.webhooks
    const holder = `holder ${this.#holders}`
    await this.feed.readers.release(holder)
    this.webhooks = this.#start(options)
    this.#former.push(former.close())
  }
  readonly #former: Promise<void>[] = []
  #setClosed = (): void => {}
  readonly #closed = new Promise<void>((resolve) => {
    this.#setClosed = resolve
  })

  /** Lets time go on and the webhooks work until `probe` finds something. */
  async drive<T>(what: string, probe: () => T | undefined | Promise<T | undefined>, stepMs = 1000): Promise<T> {
    const end = performance.now() + 50_000
    for (;;) {
      this.clock.advance(stepMs)
      await this.webhooks.turn()
      const found = await probe()
      if (found !== undefined) return found
      if (performance.now() > end) throw new Error(`Not within 50 s: ${what}.`)
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
  }

  async #disable(id: string, reason: 'gone' | 'failing'): Promise<void> {
    const webhook = await this.webhook(id)
    if (webhook === undefined || webhook.disabled !== null) return
    this.disabled.push({ id, reason })
    await this.change(webhook, { disabled: { at: this.clock.text(), reason } }, 'webhook.disabled')
  }

  async webhook(id: string): Promise<StoredWebhook | undefined> {
    return (await this.feed.webhooks.load()).find((one) => one.id === id)
  }

  async addWebhook(url: string, over: Partial<StoredWebhook> = {}): Promise<StoredWebhook> {
    this.#webhooks += 1
    const now = this.clock.text()
    const webhook = webhookOf(this.#webhooks, {
      url,
      secrets: [{ text: generateWebhookSecret(), expires_at: null }],
      enabled_at: now,
      created_at: now,
      updated_at: now,
      ...over,
    })
    await this.pen.commit({ change: writeWebhookOf(webhook), entry: { type: 'webhook.created', at: now } })
    return webhook
  }

  async change(
    webhook: StoredWebhook,
    over: Partial<StoredWebhook>,
    type: AuditType = 'webhook.updated',
  ): Promise<StoredWebhook> {
    const changed = { ...webhook, ...over, version: webhook.version + 1 }
    const data = { reason: changed.disabled?.reason ?? null }
    await this.pen.commit({ change: writeWebhookOf(changed), entry: { type, at: this.clock.text(), data } })
    return changed
  }

  /** Decisions, each with the event `decision.created`; the ids of the events, in order. */
  async decide(count: number, over: Partial<StoredDecision> = {}): Promise<readonly string[]> {
    const drafts = Array.from({ length: count }, () => {
      this.#decisions += 1
      const now = this.clock.text()
      const decision = decisionOf(this.#decisions, { evaluated_at: now, ...over })
      const { effect, status, expires_at } = decision
      const data: JsonObject = { effect, status, expires_at, version: 1, budgets: [] }
      return { change: createOf(decision, requestOf(this.#decisions, { secret: 'context' })), entry: { at: now, data } }
    })
    const ids: string[] = []
    for (let from = 0; from < drafts.length; from += 100) {
      const mutations = this.pen.seal(drafts.slice(from, from + 100))
      ids.push(...mutations.map(({ entry }) => `evt_${entry?.id.slice('aud_'.length)}`))
      await this.pen.commit(...drafts.slice(from, from + 100))
    }
    return ids
  }

  async deliveries(webhook: Pick<StoredWebhook, 'id'>): Promise<readonly StoredDelivery[]> {
    const { items } = await this.feed.deliveries.list({ webhook_id: webhook.id }, { limit: 10_000, after: null })
    return items
  }

  /** Adds what POST /v1/webhooks/{id}/test adds. */
  async addTest(webhook: StoredWebhook): Promise<StoredDelivery> {
    const now = this.clock.text()
    this.#tests += 1
    const delivery: StoredDelivery = {
      id: idOf('dlv', this.#tests),
      version: 1,
      webhook_id: webhook.id,
      event: {
        id: idOf('evt', 9_000_000 + this.#tests),
        type: 'webhook.test',
        subject: webhook.id,
        at: now,
        entry: null,
      },
      created_at: now,
      status: 'pending',
      attempt_count: 0,
      scheduled_count: 0,
      attempts: [],
      next_attempt_at: now,
    }
    await this.feed.deliveries.add(delivery)
    return delivery
  }
  #tests = 0
}

export const CREATED: readonly EventType[] = ['decision.created']

/** Closed at the end of the test. */
export async function bedOf(options?: Parameters<typeof TestBed.open>[0]): Promise<TestBed> {
  const bed = await TestBed.open(options)
  onTestFinished(() => bed.close())
  return bed
}

/** Closed at the end of the test. */
export async function receiverOf(answer?: Answer): Promise<Receiver> {
  const receiver = await startReceiver(answer)
  onTestFinished(receiver.close)
  return receiver
}

export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (_, res) => res.writeHead(code, headers).end()
}

export function idsOf(received: readonly Received[]): string[] {
  return received.map(({ headers }) => headers['webhook-id'] as string)
}

/** As the published library reads it. @throws when the signature is of nobody */
export function verify({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>)
}

export function secretOf({ secrets }: StoredWebhook): string {
  return secrets[0]?.text as string
}

/** When all deliveries of a webhook are settled. */
export async function settled(bed: TestBed, webhook: StoredWebhook, count: number, stepMs?: number) {
  return bed.drive(
    `${count} deliveries settled`,
    async () => {
      // To list them all each time would take longer than to send them.
      if (count > 100 && (await bed.feed.deliveries.pendingOf(webhook.id)) !== null) return
      const deliveries = await bed.deliveries(webhook)
      return deliveries.filter((one) => one.status !== 'pending').length >= count ? deliveries : undefined
    },
    stepMs,
  )
}

/** The only delivery of a webhook, when it has had this number of attempts. */
export async function attempted(
  bed: TestBed,
  webhook: StoredWebhook,
  count: number,
  stepMs?: number,
): Promise<StoredDelivery> {
  return bed.drive(
    `${count} attempts`,
    async () => (await bed.deliveries(webhook)).find(({ attempt_count }) => attempt_count >= count),
    stepMs,
  )
}

/** The same, with each call told of, as `role.method`. */
export function observed(feed: FeedStore, onCall: (name: string) => void): FeedStore {
  return withCalls(feed, (name, perform) => {
    onCall(name)
    return perform()
  })
}

/** The store as one process sees it: a call may fail before it is done, or after it, and none succeeds once the process is gone. */
export class FaultyFeed {
  isGone = false
  readonly feed: FeedStore

  constructor(feed: FeedStore, fails: () => boolean) {
    this.feed = withCalls(feed, async (_, perform) => {
      if (this.isGone || fails()) throw new StoreUnavailableError('before')
      const result = await perform()
      if (this.isGone || fails()) throw new StoreUnavailableError('after')
      return result
    })
  }
}

import { KeyedMutex } from '../../concurrency/keyed-mutex.js'
import type { Clock } from '../../ports/clock.js'
import type { Log } from '../../ports/log.js'
import type { StoredWebhook } from '../../ports/store/documents.js'
import { DamagedRecordError, StoreUnavailableError } from '../../ports/store/errors.js'
import type { FeedStore } from '../../ports/store/feed.js'
import { readerNameOf } from './delivery-reader.js'
import { Endpoint, type EndpointDeps } from './endpoint.js'
import { EventSource } from './event-source.js'

export interface WebhooksDeps
  extends Pick<EndpointDeps, 'disable' | 'random' | 'holder' | 'monotonicMs' | 'allowsPrivate' | 'resolve' | 'ca'>,
    Pick<EndpointDeps, 'checked'>,
    Pick<EndpointDeps, 'connectTimeoutMs' | 'timeoutMs'> {
  readonly store: FeedStore
  readonly clock: Clock
  readonly log: Log
}

/** Poll interval for leftovers of deleted webhooks. Slightly under the 1 s timer, which may fire early. */
const REFRESHED_EVERY_MS = 900
/** The name under which concurrent callers share one look at the store. */
const LOOK = 'look'
/** How long attempts in progress may take when the feed closes. */
const CLOSING_MS = 2000
/** How often a lasting fault is logged. */
const LOGGED_EVERY_MS = 3_600_000
/** How long a reader is held while the data of a deleted webhook is removed. */
const REMOVAL_MS = 30_000

/** Sends events to all webhooks, each one independently. */
export class Webhooks {
  readonly #source: EventSource
  readonly #endpoints = new Map<string, Endpoint>()
  /** The ids of deleted webhooks that may have left data. */
  readonly #deleted = new Set<string>()
  /** The ids of deleted webhooks whose endpoint may still write. */
  readonly #closing = new Set<string>()
  /** The last failure of each webhook, and when it was logged. */
  readonly #faults = new Map<string, { readonly text: string; readonly atMs: number }>()
  /** Damaged webhooks by row id, as of the last look. */
  #damaged: ReadonlyMap<string, DamagedRecordError> = new Map()
  #isStoreMissed = false
  #refreshAtMs = Number.NEGATIVE_INFINITY
  readonly #looks = new KeyedMutex()
  /** How many changes were reported, and how many of them are read. */
  #changes = 0
  #read = 0
  #isClosed = false

  constructor(private readonly deps: WebhooksDeps) {
    this.#source = new EventSource(deps.store)
  }

  /**
   * Call this after a possible write, or when something may be due. The work continues after the call. Never rejects.
   */
  async turn(): Promise<void> {
    if (this.#isClosed) return
    this.#source.beginTurn()
    try {
      await this.#refresh()
      if (this.#endpoints.size === 0) this.#source.clear()
      else await this.#source.forgetErased()
    } catch (error) {
      this.#failed('', error)
    }
    if (!this.#isClosed) for (const endpoint of this.#endpoints.values()) endpoint.wake()
  }

  /**
   * Call this after a webhook was changed, created or deleted. Resolves when the change applies to everything that
   * begins later. Until then nothing begins, also when it rejects: then the next look applies the change.
   *
   * @throws StoreUnavailableError
   */
  async changed(): Promise<void> {
    this.#changes += 1
    await this.follow()
    for (const endpoint of this.#endpoints.values()) endpoint.wake()
  }

  /** Applies the changes of all processes. @throws StoreUnavailableError */
  async follow(): Promise<void> {
    if (!this.#isClosed) await this.#looks.join(LOOK, () => this.#look())
  }

  /** Resolves when all sending and writing has ended. The readers stay held: see `releaseReaders`. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.close(CLOSING_MS)))
    this.#endpoints.clear()
  }

  async #refresh(): Promise<void> {
    const nowMs = this.deps.clock.now().getTime()
    if (nowMs < this.#refreshAtMs) return
    const namesOf = await this.#looks.join(LOOK, () => this.#look())
    this.#refreshAtMs = nowMs + REFRESHED_EVERY_MS
    for (const id of this.#deleted) if (!this.#closing.has(id)) await this.#removeRest(id, namesOf.get(id) ?? [])
  }

  /** Loads the webhooks of the store. @returns the names of the readers of each */
  async #look(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { store } = this.deps
    const changes = this.#changes
    // Readers are listed first: a listed reader belongs to a webhook that existed then, so a webhook that is missing
    // afterwards was deleted.
    const names = [...(await store.readers.list('webhook/')), ...(await store.readers.list('replay/'))]
    const damaged = new Map<string, DamagedRecordError>()
    const sound = await store.webhooks.load((error) => damaged.set(error.id, error))
    const webhooks = new Map(sound.map((webhook) => [webhook.id, webhook]))
    this.#isStoreMissed = false
    const namesOf = byWebhook(names)
    if (this.#isClosed) return namesOf
    for (const webhook of webhooks.values()) this.#update(webhook, namesOf.get(webhook.id) ?? [])
    this.#report(damaged)
    // For a damaged row, neither the webhook of the row id nor the one that its document names counts as deleted.
    const present = new Set<unknown>([
      ...webhooks.keys(),
      ...[...damaged.values()].flatMap((row) => [row.id, row.stored]),
    ])
    for (const id of [...this.#endpoints.keys(), ...namesOf.keys()]) if (!present.has(id)) this.#forget(id)
    this.#read = changes
    return namesOf
  }

  #update(webhook: StoredWebhook, names: readonly string[]): void {
    const known = this.#endpoints.get(webhook.id)
    const onError = (id: string, error: unknown) => this.#failed(id, error)
    const mayStart = () => this.#read === this.#changes
    const endpoint = known ?? new Endpoint({ ...this.deps, source: this.#source, mayStart, onError }, webhook)
    this.#endpoints.set(webhook.id, endpoint)
    endpoint.update(webhook, names)
  }

  /** Reports each damaged row once, until it is intact again. Its endpoint continues with the last good state. */
  #report(damaged: ReadonlyMap<string, DamagedRecordError>): void {
    for (const [id, err] of damaged)
      if (!this.#damaged.has(id)) this.deps.log.error({ err, webhook_id: id }, 'the row of a webhook is damaged')
    this.#damaged = damaged
  }

  #forget(id: string): void {
    const endpoint = this.#endpoints.get(id)
    this.#endpoints.delete(id)
    this.#faults.delete(id)
    this.#deleted.add(id)
    if (endpoint === undefined) return
    this.#closing.add(id)
    void endpoint.close(0).then(() => this.#closing.delete(id))
  }

  /** Removes a share of the data at a time. The reader goes last, because it shows that something is left. */
  async #removeRest(id: string, names: readonly string[]): Promise<void> {
    const { store, holder } = this.deps
    const main = readerNameOf(id)
    if ((await store.readers.hold(main, holder, REMOVAL_MS)) === null) return
    if ((await store.deliveries.remove(id, null)) > 0) return
    for (const name of names) if (name !== main) await store.readers.remove(name)
    await store.readers.remove(main)
    this.#deleted.delete(id)
  }

  #failed(webhookId: string, err: unknown): void {
    if (this.#isClosed) return
    if (err instanceof StoreUnavailableError && !(err instanceof DamagedRecordError)) {
      if (!this.#isStoreMissed) this.deps.log.warn({ err }, 'webhooks wait for the store')
      this.#isStoreMissed = true
      return
    }
    const [text, atMs] = [String(err), this.deps.clock.now().getTime()]
    const known = this.#faults.get(webhookId)
    if (known?.text === text && atMs - known.atMs < LOGGED_EVERY_MS) return
    this.#faults.set(webhookId, { text, atMs })
    this.deps.log.error({ err, webhook_id: webhookId }, 'a webhook gets no events; it tries again')
  }
}

/** Readers are named `webhook/<id>` and `replay/<id>/…`. */
function byWebhook(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const namesOf = new Map<string, string[]>()
  for (const name of names) {
    const id = name.split('/')[1] ?? ''
    const known = namesOf.get(id)
    if (known === undefined) namesOf.set(id, [name])
    else known.push(name)
  }
  return namesOf
}

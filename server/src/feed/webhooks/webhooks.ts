import type { StoredWebhook } from '@countersign/store-port/documents'
import type { FeedReads, FeedWrites } from '@countersign/store-port/feed'
import { StoreUnavailableError } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import type { Log } from '../../ports/log.js'
import { readerNameOf } from './delivery-reader.js'
import { Endpoint, type EndpointDeps } from './endpoint.js'
import { EventSource } from './event-source.js'

export interface WebhooksDeps
  extends Pick<EndpointDeps, 'disable' | 'random' | 'holder' | 'monotonicMs' | 'allowsPrivate' | 'resolve' | 'ca'>,
    Pick<EndpointDeps, 'connectTimeoutMs' | 'timeoutMs'> {
  readonly store: FeedReads & FeedWrites
  readonly clock: Clock
  readonly log: Log
}

/** Changed webhooks are looked for so often. A timer of a second may be a little early. */
const REFRESHED_EVERY_MS = 900
/** What is being sent at the end may take so long. */
const CLOSING_MS = 2000
/** A fault that stays is logged so often. */
const LOGGED_EVERY_MS = 3_600_000
/** A reader is held so long while what belongs to a deleted webhook is removed. */
const REMOVAL_MS = 30_000

/** Sends events to all webhooks: each one by itself. */
export class Webhooks {
  readonly #source: EventSource
  readonly #endpoints = new Map<string, Endpoint>()
  /** Ids of deleted webhooks that may have left something behind. */
  readonly #deleted = new Set<string>()
  /** Those whose endpoint may still write. */
  readonly #closing = new Set<string>()
  /** By webhook, what it failed with last, and when that was logged. */
  readonly #faults = new Map<string, { readonly text: string; readonly atMs: number }>()
  #isStoreMissed = false
  #refreshAtMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(private readonly deps: WebhooksDeps) {
    this.#source = new EventSource(deps.store)
  }

  /** Something may have been written, or become due. What follows from it goes on after the call. Never rejects. */
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

  /** Resolves when nothing is sent or written any more. The readers stay held: see `releaseReaders`. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.close(CLOSING_MS)))
    this.#endpoints.clear()
  }

  async #refresh(): Promise<void> {
    const { store, clock } = this.deps
    const nowMs = clock.now().getTime()
    if (nowMs < this.#refreshAtMs) return
    // A reader that is there is of a webhook that was there before: when that is absent afterwards, it is deleted.
    const names = [...(await store.listReaders('webhook/')), ...(await store.listReaders('replay/'))]
    const webhooks = new Map((await store.loadWebhooks()).map((webhook) => [webhook.id, webhook]))
    this.#refreshAtMs = nowMs + REFRESHED_EVERY_MS
    this.#isStoreMissed = false
    const namesOf = byWebhook(names)
    for (const webhook of webhooks.values()) this.#update(webhook, namesOf.get(webhook.id) ?? [])
    for (const id of [...this.#endpoints.keys(), ...namesOf.keys()]) if (!webhooks.has(id)) this.#forget(id)
    for (const id of this.#deleted) if (!this.#closing.has(id)) await this.#removeRest(id, namesOf.get(id) ?? [])
  }

  #update(webhook: StoredWebhook, names: readonly string[]): void {
    const known = this.#endpoints.get(webhook.id)
    const onError = (id: string, error: unknown) => this.#failed(id, error)
    const endpoint = known ?? new Endpoint({ ...this.deps, source: this.#source, onError }, webhook)
    this.#endpoints.set(webhook.id, endpoint)
    endpoint.update(webhook, names)
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

  /** A share of it at a time. Its reader goes last: it shows that something is left. */
  async #removeRest(id: string, names: readonly string[]): Promise<void> {
    const { store, holder } = this.deps
    const main = readerNameOf(id)
    if ((await store.holdReader(main, holder, REMOVAL_MS)) === null) return
    if ((await store.removeDeliveries(id, null)) > 0) return
    for (const name of names) if (name !== main) await store.removeReader(name)
    await store.removeReader(main)
    this.#deleted.delete(id)
  }

  #failed(webhookId: string, err: unknown): void {
    if (this.#isClosed) return
    if (err instanceof StoreUnavailableError) {
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

import type { AuditType, JsonObject } from '@countersign/contract'
import type { IdempotencyRecord, StoredWebhook } from '@countersign/store-port/documents'
import type { Store } from '@countersign/store-port/store'
import { DomainError, invalid } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Changes } from '../../state/changes.js'
import { faultOfWebhookUrl, type WebhookUrlRules } from '../../webhook-url.js'

export interface WriteWebhookDeps {
  readonly clock: Clock
  /** Nothing of webhooks is kept in memory: they are few, and seldom read. */
  readonly store: Pick<Store, 'loadWebhooks' | 'feed'>
  readonly writer: MutationWriter
  /** Changes of webhooks happen one after the other. */
  readonly changes: Changes
  readonly urlRules: WebhookUrlRules
}

type WebhookAudit = Extract<AuditType, `webhook.${string}`>

interface WebhookChange {
  readonly type: WebhookAudit
  readonly actor: string | null
  readonly at: string
  /** Never a secret, nor the query of the URL, which may hold one. */
  readonly data: JsonObject
  readonly idempotency?: IdempotencyRecord | null
}

/** Writes one change of a webhook. The feed reads of it in the log. */
export async function writeWebhook(
  { writer }: Pick<WriteWebhookDeps, 'writer'>,
  webhook: StoredWebhook,
  { type, actor, at, data, idempotency = null }: WebhookChange,
): Promise<void> {
  await writer.write({
    entry: { at, type, actor, subject: webhook.id, agent_id: null, data },
    change: () => ({ kind: 'webhook.write', webhook, expected_version: webhook.version - 1 }),
    idempotency,
  })
}

/** @throws DomainError not_found */
export async function findWebhook({ store }: Pick<WriteWebhookDeps, 'store'>, id: string): Promise<StoredWebhook> {
  const webhook = (await store.loadWebhooks()).find((one) => one.id === id)
  if (webhook === undefined) throw new DomainError('not_found')
  return webhook
}

/** @throws DomainError validation_failed */
export function assertUrl({ urlRules }: Pick<WriteWebhookDeps, 'urlRules'>, url: string): void {
  const fault = faultOfWebhookUrl(url, urlRules)
  if (fault !== null) throw invalid([{ pointer: '/url', detail: fault }])
}

/** What the log tells of a webhook. */
export function toldOf({ url, events, disabled }: StoredWebhook): JsonObject {
  const { origin, pathname } = new URL(url)
  return { url: `${origin}${pathname}`, events, enabled: disabled === null }
}

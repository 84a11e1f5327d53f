import { webhookState } from '@countersign/audit-log'
import type { AuditType, JsonObject, WebhookWrite } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError, invalid } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Ids } from '../../ports/ids.js'
import type { IdempotencyRecord, StoredWebhook } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import { findWebhook as findStored } from '../../ports/store/webhooks.js'
import type { Changes } from '../../state/changes.js'
import { faultOfWebhookUrl, type WebhookUrlRules } from '../../webhook-url.js'

export interface WriteWebhookDeps {
  readonly clock: Clock
  readonly ids: Pick<Ids, 'salt'>
  /** Webhooks are not cached in memory: they are few, and seldom read. */
  readonly store: Pick<Store, 'webhooks' | 'deliveries' | 'readers'>
  readonly writer: MutationWriter
  /** Runs changes of webhooks one at a time. */
  readonly changes: Changes
  readonly urlRules: WebhookUrlRules
}

type WebhookAudit = Extract<AuditType, `webhook.${string}`>

interface WebhookChange {
  readonly type: WebhookAudit
  /** Null: the server itself. */
  readonly caller: Caller | null
  readonly at: string
  /** Data for the audit entry, added to the state after the change. Never contains a secret. */
  readonly data: JsonObject
  readonly idempotency?: IdempotencyRecord | null
}

/** Writes one change of a webhook, and the audit entry that binds it. The feed reads the change from the entry. */
export async function writeWebhook(
  { ids, writer }: Pick<WriteWebhookDeps, 'ids' | 'writer'>,
  changed: StoredWebhook,
  { type, caller, at, data, idempotency = null }: WebhookChange,
): Promise<void> {
  // Ignores a `deleted_at` that the row contains: a stored webhook was never deleted, and the mark would remove its
  // row.
  const deleted_at = type === 'webhook.deleted' ? at : null
  const webhook = { ...changed, deleted_at, salt: changed.salt ?? ids.salt() }
  await writer.write({
    entry: {
      ...{ at, type, actor: caller?.key.id ?? null, subject: webhook.id, agent_id: null },
      trace_id: caller?.traceId ?? null,
      data: { ...data, ...webhookState({ ...webhook }) },
    },
    change: { kind: 'webhook.write', webhook, expected_version: webhook.version - 1 },
    idempotency,
  })
}

/** @throws DomainError not_found; DamagedRecordError when its row is damaged */
export async function findWebhook({ store }: Pick<WriteWebhookDeps, 'store'>, id: string): Promise<StoredWebhook> {
  const webhook = await findStored(store.webhooks, id)
  if (webhook === null) throw new DomainError('not_found')
  return webhook
}

/** @throws DomainError validation_failed */
export function assertUrl({ urlRules }: Pick<WriteWebhookDeps, 'urlRules'>, url: string): void {
  const fault = faultOfWebhookUrl(url, urlRules)
  if (fault !== null) throw invalid([{ pointer: '/url', detail: fault }])
}

/** Returns each type once, in the given order; null for every type. */
export function typesOf({ events }: WebhookWrite): StoredWebhook['events'] {
  return events ? [...new Set(events)] : null
}

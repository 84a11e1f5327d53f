import type { StoredWebhook } from '../../../ports/store/documents.js'
import type { OnDamaged } from '../../../ports/store/errors.js'
import { ofSoundRows, rowDocument } from '../../../ports/store/row-document.js'
import type { Database } from '../connection/database.js'
import type { WebhookDirectory, WebhookEntry } from '../stored.js'
import { hasRoom } from './directory-room.js'

/** The id of the directory's only document. */
export const WEBHOOKS = 'webhooks'

export async function readWebhookDirectory(database: Database): Promise<WebhookDirectory> {
  return (await database.call(() => database.webhookDirectory.findOne({ _id: WEBHOOKS }))) as WebhookDirectory
}

export async function loadWebhooks(database: Database, onDamaged?: OnDamaged): Promise<readonly StoredWebhook[]> {
  const { webhooks } = await readWebhookDirectory(database)
  const sorted = Object.entries(webhooks).sort(([one], [other]) => (one < other ? -1 : 1))
  return ofSoundRows(
    sorted,
    ([id, { version, document }]) => rowDocument('webhook', { id, version }, document),
    onDamaged,
  )
}

export function webhookEntryOf(webhook: StoredWebhook): WebhookEntry {
  return { version: webhook.version, document: JSON.stringify(webhook) }
}

/** A webhook can always be deleted. */
export function hasRoomForWebhook(webhooks: WebhookDirectory['webhooks'], webhook: StoredWebhook): boolean {
  const isNew = webhooks[webhook.id] === undefined
  return hasRoom({ ...webhooks, [webhook.id]: webhookEntryOf(webhook) }, isNew ? 'new' : 'more')
}

/** Writes webhooks that no process changes. */
export async function insertWebhooks(database: Database, webhooks: readonly StoredWebhook[]): Promise<void> {
  if (webhooks.length === 0) return
  const $set = Object.fromEntries(webhooks.map((webhook) => [`webhooks.${webhook.id}`, webhookEntryOf(webhook)]))
  await database.call(() => database.webhookDirectory.updateOne({ _id: WEBHOOKS }, { $set }))
}

import type { StoredWebhook } from '@countersign/store-port/documents'
import type { Database } from '../connection/database.js'
import type { WebhookDirectory, WebhookEntry } from '../stored.js'
import { hasRoom } from './directory-room.js'

/** The one document of the directory. */
export const WEBHOOKS = 'webhooks'

export async function readWebhookDirectory(database: Database): Promise<WebhookDirectory> {
  return (await database.call(() => database.webhookDirectory.findOne({ _id: WEBHOOKS }))) as WebhookDirectory
}

export async function loadWebhooks(database: Database): Promise<readonly StoredWebhook[]> {
  const { webhooks } = await readWebhookDirectory(database)
  return Object.entries(webhooks)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { document }]) => JSON.parse(document) as StoredWebhook)
}

export function webhookEntryOf(webhook: StoredWebhook): WebhookEntry {
  return { version: webhook.version, document: JSON.stringify(webhook) }
}

/** A webhook can always be deleted. */
export function hasRoomForWebhook(webhooks: WebhookDirectory['webhooks'], webhook: StoredWebhook): boolean {
  const isNew = webhooks[webhook.id] === undefined
  return hasRoom({ ...webhooks, [webhook.id]: webhookEntryOf(webhook) }, isNew ? 'new' : 'more')
}

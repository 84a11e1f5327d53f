import type { StoredWebhook } from '../../../ports/store/documents.js'
import type { OnDamaged } from '../../../ports/store/errors.js'
import { ofSoundRows } from '../../../ports/store/row-document.js'
import type { Connection } from '../driver.js'
import { documentReader, writeVersion } from './documents.js'

/** Returns false when the webhook is at another version. With `deleted_at` set, the row is removed. */
export function writeWebhook(db: Connection, webhook: StoredWebhook, expectedVersion: number): boolean {
  const { id, deleted_at } = webhook
  if (deleted_at !== null) return db.run('DELETE FROM webhooks WHERE id = ? AND version = ?', id, expectedVersion) === 1
  return writeVersion(db, 'webhooks', webhook, expectedVersion)
}

export function loadWebhooks(db: Connection, onDamaged?: OnDamaged): readonly StoredWebhook[] {
  return ofSoundRows(db.all('SELECT id, version, document FROM webhooks ORDER BY id'), webhookOf, onDamaged)
}

const webhookOf = documentReader<StoredWebhook>('webhook')

import type { StoredWebhook } from '@countersign/store-port/documents'
import type { Connection } from '../driver.js'

/** False when it is at another version. With `deleted_at` set, the row goes. */
export function writeWebhook(db: Connection, webhook: StoredWebhook, expectedVersion: number): boolean {
  const { id, version, deleted_at } = webhook
  if (deleted_at !== null) return db.run('DELETE FROM webhooks WHERE id = ? AND version = ?', id, expectedVersion) === 1
  const document = JSON.stringify(webhook)
  const written =
    expectedVersion === 0
      ? db.run(
          'INSERT INTO webhooks (id, version, document) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
          id,
          version,
          document,
        )
      : db.run(
          'UPDATE webhooks SET version = ?, document = ? WHERE id = ? AND version = ?',
          version,
          document,
          id,
          expectedVersion,
        )
  return written === 1
}

export function loadWebhooks(db: Connection): readonly StoredWebhook[] {
  return db.all('SELECT document FROM webhooks ORDER BY id').map((row) => JSON.parse(row.document as string))
}

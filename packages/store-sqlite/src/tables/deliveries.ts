import type { StoredDelivery } from '@countersign/store-port/documents'
import type { DeliveryFilter } from '@countersign/store-port/feed'
import type { Page, PageRequest } from '@countersign/store-port/store'
import type { Connection, Row } from '../driver.js'
import { equality, pageOf, type Scan } from '../scan-newest-first.js'

/** One that exists already stays as it is. */
export function addDeliveries(db: Connection, deliveries: readonly StoredDelivery[]): void {
  for (const delivery of deliveries)
    db.run(
      `INSERT INTO deliveries (id, version, webhook_id, at_ms, status, event_ms, next_ms, document)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
      delivery.id,
      delivery.version,
      delivery.webhook_id,
      Date.parse(delivery.created_at),
      delivery.status,
      Date.parse(delivery.event.at),
      nextMs(delivery),
      JSON.stringify(delivery),
    )
}

/** Those that were at the version before. */
export function updateDeliveries(db: Connection, deliveries: readonly StoredDelivery[]): readonly string[] {
  return db.transaction(() =>
    deliveries.flatMap((delivery) => {
      const { id, version, status } = delivery
      const written = db.run(
        'UPDATE deliveries SET version = ?, status = ?, next_ms = ?, document = ? WHERE id = ? AND version = ?',
        version,
        status,
        nextMs(delivery),
        JSON.stringify(delivery),
        id,
        version - 1,
      )
      return written === 1 ? [id] : []
    }),
  )
}

export function findDelivery(db: Connection, id: string): StoredDelivery | null {
  const row = db.get('SELECT document FROM deliveries WHERE id = ?', id)
  return row === undefined ? null : deliveryOf(row)
}

export function listDeliveries(
  db: Connection,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<StoredDelivery>> {
  return pageOf(db, deliveryScan(filter), page, {
    read: (seq) => db.get('SELECT document FROM deliveries WHERE seq = ?', seq),
    make: deliveryOf,
  })
}

/** Most are delivered: they have no index of their own. */
function deliveryScan({ webhook_id, status }: DeliveryFilter): Scan {
  const isRare = status !== undefined && status !== 'delivered'
  return {
    table: 'deliveries',
    by: 'time',
    index: null,
    conditions: isRare
      ? [
          {
            sql: "status <> 'delivered' AND webhook_id = ? AND status = ?",
            values: [webhook_id, status],
            index: 'deliveries_undelivered',
          },
        ]
      : [...equality('webhook_id', webhook_id, 'deliveries_by_webhook'), ...equality('status', status, null)],
  }
}

export function listDue(db: Connection, webhookId: string, now: string, limit: number): readonly StoredDelivery[] {
  const rows = db.all(
    `SELECT document FROM deliveries INDEXED BY deliveries_due
     WHERE status = 'pending' AND webhook_id = ? AND next_ms <= ? ORDER BY next_ms, id LIMIT ?`,
    webhookId,
    Date.parse(now),
    limit,
  )
  return rows.map(deliveryOf)
}

export function pendingOf(
  db: Connection,
  webhookId: string,
): { readonly next_attempt_at: string; readonly oldest_event_at: string } | null {
  return db.snapshot(() => {
    const next = db.get(
      `SELECT next_ms FROM deliveries INDEXED BY deliveries_due
       WHERE status = 'pending' AND webhook_id = ? AND next_ms > ? ORDER BY next_ms LIMIT 1`,
      webhookId,
      Number.MIN_SAFE_INTEGER,
    )
    const oldest = db.get(
      `SELECT event_ms FROM deliveries INDEXED BY deliveries_pending
       WHERE status = 'pending' AND webhook_id = ? ORDER BY event_ms LIMIT 1`,
      webhookId,
    )
    if (next === undefined || oldest === undefined) return null
    return {
      next_attempt_at: new Date(next.next_ms as number).toISOString(),
      oldest_event_at: new Date(oldest.event_ms as number).toISOString(),
    }
  })
}

const LARGEST_REMOVAL = 1000

export function removeDeliveries(db: Connection, webhookId: string, before: string | null): number {
  return db.run(
    `DELETE FROM deliveries WHERE seq IN (
       SELECT seq FROM deliveries INDEXED BY deliveries_by_webhook
       WHERE webhook_id = ? AND at_ms < ? ORDER BY at_ms, id LIMIT ${LARGEST_REMOVAL})`,
    webhookId,
    before === null ? Number.MAX_SAFE_INTEGER : Date.parse(before),
  )
}

function nextMs({ next_attempt_at }: StoredDelivery): number | null {
  return next_attempt_at === null ? null : Date.parse(next_attempt_at)
}

function deliveryOf(row: Row): StoredDelivery {
  return JSON.parse(row.document as string)
}

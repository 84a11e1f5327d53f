import { hasResponse, isOfDecision, type StoredDelivery, withoutResponses } from '../../../ports/store/documents.js'
import type { DeliveryFilter } from '../../../ports/store/feed.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { leaveOut, ofSoundRows } from '../../../ports/store/row-document.js'
import type { Connection } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { equality, pageOf, type Scan } from '../scan-newest-first.js'
import { documentReader } from './documents.js'
import { ERASED } from './held-requests.js'

export function addDeliveries(db: Connection, deliveries: readonly StoredDelivery[]): void {
  for (const delivery of deliveries)
    db.run(
      `INSERT INTO deliveries (id, version, webhook_id, at_ms, status, event_ms, next_ms, subject, document)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
      delivery.id,
      delivery.version,
      delivery.webhook_id,
      Date.parse(delivery.created_at),
      delivery.status,
      Date.parse(delivery.event.at),
      nextMs(delivery),
      delivery.event.subject,
      JSON.stringify(delivery),
    )
}

export function updateDeliveries(db: Connection, deliveries: readonly StoredDelivery[]): readonly string[] {
  return db.transaction(() =>
    deliveries.flatMap((delivery) => (updateDelivery(db, withoutErased(db, delivery)) ? [delivery.id] : [])),
  )
}

function updateDelivery(db: Connection, delivery: StoredDelivery): boolean {
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
  return written === 1
}

/** A response may arrive after the request in its event was erased, or after the decision was removed. */
function withoutErased(db: Connection, delivery: StoredDelivery): StoredDelivery {
  if (!isOfDecision(delivery) || !hasResponse(delivery)) return delivery
  const sql = `SELECT 1 FROM decisions WHERE id = ? AND request_hash <> '${ERASED}'`
  return db.get(sql, delivery.event.subject) === undefined ? withoutResponses(delivery) : delivery
}

/**
 * Removes the responses of endpoints to the events of a decision. Call it in the transaction that erases the request or
 * removes the decision.
 */
export function eraseResponses(db: Connection, subject: string): void {
  const rows = db.all(`${READ} INDEXED BY deliveries_by_subject WHERE subject = ?`, subject)
  // A damaged delivery may contain a response, so it is removed.
  const deliveries = ofSoundRows(rows, deliveryOf, ({ id }) => db.run('DELETE FROM deliveries WHERE id = ?', id))
  for (const delivery of deliveries.filter(hasResponse))
    updateDelivery(db, { ...withoutResponses(delivery), version: delivery.version + 1 })
}

const READ = 'SELECT id, version, document FROM deliveries'

export function findDelivery(db: Connection, id: string): StoredDelivery | null {
  const row = db.get(`${READ} WHERE id = ?`, id)
  return row === undefined ? null : deliveryOf(row)
}

export function listDeliveries(
  db: Connection,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<StoredDelivery>> {
  return pageOf(db, deliveryScan(filter), page, {
    read: (seq) => db.get(`${READ} WHERE seq = ?`, seq),
    make: deliveryOf,
  })
}

export function readAllDeliveries(db: Connection, page: PageRequest): Promise<Page<StoredDelivery>> {
  return readInOrder(db, 'deliveries', page, {
    read: (seq) => db.get(`${READ} WHERE seq = ?`, seq),
    make: deliveryOf,
  })
}

/** Most deliveries are delivered: that status has no index. */
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
  const due: StoredDelivery[] = []
  for (let after: readonly [number, string] = [Number.MIN_SAFE_INTEGER, '']; ; ) {
    const rows = db.all(
      `SELECT id, version, document, next_ms FROM deliveries INDEXED BY deliveries_due
       WHERE status = 'pending' AND webhook_id = ? AND (next_ms, id) > (?, ?) AND next_ms <= ? ORDER BY next_ms, id LIMIT ?`,
      webhookId,
      ...after,
      Date.parse(now),
      limit,
    )
    due.push(...ofSoundRows(rows, deliveryOf, leaveOut))
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit || due.length >= limit) return due.slice(0, limit)
    after = [last.next_ms as number, last.id as string]
  }
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

const deliveryOf = documentReader<StoredDelivery>('delivery')

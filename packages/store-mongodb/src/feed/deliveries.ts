import { randomBytes } from 'node:crypto'
import type { StoredDelivery } from '@countersign/store-port/documents'
import type { DeliveryFilter } from '@countersign/store-port/feed'
import type { Page, PageRequest } from '@countersign/store-port/store'
import { equality, pageOf } from '../collections/pages.js'
import type { Database } from '../connection/database.js'
import type { DeliveryDocument } from '../stored.js'

/** One that exists already stays as it is. */
export async function addDeliveries(database: Database, deliveries: readonly StoredDelivery[]): Promise<void> {
  await database.insertNew(database.deliveries, deliveries.map(documentOf))
}

/** Those that were at the version before. */
export async function updateDeliveries(
  database: Database,
  deliveries: readonly StoredDelivery[],
): Promise<readonly string[]> {
  const call = randomBytes(9).toString('base64url')
  const updates = deliveries.map((delivery) => {
    const { _id, version, status, due, document } = documentOf(delivery)
    const $set = { version, status, document, written_by: call }
    return {
      updateOne: {
        filter: { _id, version: version - 1 },
        update: due === undefined ? { $set, $unset: { due: 1 as const } } : { $set: { ...$set, due } },
      },
    }
  })
  const written = await database.call(async () => {
    if (updates.length === 0) return 0
    return (await database.deliveries.bulkWrite(updates, { ordered: false })).matchedCount
  })
  const ids = deliveries.map(({ id }) => id)
  if (written === ids.length) return ids
  // Others were faster with some, or an answer was lost.
  const found = await database.call(() =>
    database.deliveries
      .find({ _id: { $in: ids } })
      .project<Pick<DeliveryDocument, '_id' | 'written_by'>>({ written_by: 1 })
      .toArray(),
  )
  return found.flatMap(({ _id, written_by }) => (written_by === call ? [_id] : []))
}

export async function findDelivery(database: Database, id: string): Promise<StoredDelivery | null> {
  const found = await database.findById(database.deliveries, id)
  return found === null ? null : deliveryOf(found)
}

export function listDeliveries(
  database: Database,
  { webhook_id, status }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<StoredDelivery>> {
  return pageOf(
    database,
    {
      collection: database.deliveries,
      conditions: [...equality('webhook_id', webhook_id), ...equality('status', status)],
      by: ['at_ms', '_id'],
    },
    deliveryOf,
    page,
  )
}

export async function listDue(
  database: Database,
  webhookId: string,
  now: string,
  limit: number,
): Promise<readonly StoredDelivery[]> {
  const found = await database.call(() =>
    database.deliveries
      .find({ 'due.webhook_id': { $eq: webhookId }, 'due.next_ms': { $lte: Date.parse(now) } })
      .sort({ 'due.next_ms': 1 })
      .limit(limit)
      .toArray(),
  )
  return found.map(deliveryOf)
}

export async function pendingOf(
  database: Database,
  webhookId: string,
): Promise<{ readonly next_attempt_at: string; readonly oldest_event_at: string } | null> {
  const first = (member: 'next_ms' | 'event_ms') =>
    database.call(() =>
      database.deliveries.findOne(
        { 'due.webhook_id': { $eq: webhookId } },
        { sort: { [`due.${member}`]: 1 }, projection: { due: 1 } },
      ),
    )
  const [next, oldest] = await Promise.all([first('next_ms'), first('event_ms')])
  if (next?.due === undefined || oldest?.due === undefined) return null
  return {
    next_attempt_at: new Date(next.due.next_ms).toISOString(),
    oldest_event_at: new Date(oldest.due.event_ms).toISOString(),
  }
}

const LARGEST_REMOVAL = 1000

export async function removeDeliveries(database: Database, webhookId: string, before: string | null): Promise<number> {
  const found = await database.call(() =>
    database.deliveries
      .find({
        webhook_id: { $eq: webhookId },
        at_ms: { $lt: before === null ? Number.MAX_SAFE_INTEGER : Date.parse(before) },
      })
      .sort({ at_ms: 1, _id: 1 })
      .limit(LARGEST_REMOVAL)
      .project<{ _id: string }>({ _id: 1 })
      .toArray(),
  )
  const ids = found.map(({ _id }) => _id)
  if (ids.length > 0) await database.call(() => database.deliveries.deleteMany({ _id: { $in: ids } }))
  return ids.length
}

function documentOf(delivery: StoredDelivery): DeliveryDocument {
  const { id, version, webhook_id, event, created_at, status, next_attempt_at } = delivery
  const due =
    status === 'pending' && next_attempt_at !== null
      ? { webhook_id, next_ms: Date.parse(next_attempt_at), event_ms: Date.parse(event.at) }
      : undefined
  return {
    _id: id,
    version,
    webhook_id,
    at_ms: Date.parse(created_at),
    status,
    ...(due !== undefined && { due }),
    written_by: null,
    document: JSON.stringify(delivery),
  }
}

function deliveryOf({ document }: DeliveryDocument): StoredDelivery {
  return JSON.parse(document)
}

import { randomBytes } from 'node:crypto'
import { hasResponse, isOfDecision, type StoredDelivery, withoutResponses } from '../../../ports/store/documents.js'
import type { DeliveryFilter } from '../../../ports/store/feed.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { leaveOut, ofSoundRows, rowDocument } from '../../../ports/store/row-document.js'
import { equality, pageOf } from '../collections/pages.js'
import type { Database } from '../connection/database.js'
import type { DeliveryDocument } from '../stored.js'

export async function addDeliveries(database: Database, deliveries: readonly StoredDelivery[]): Promise<void> {
  await database.insertNew(database.deliveries, deliveries.map(documentOf))
}

export async function findDeliveries(
  database: Database,
  deliveries: readonly StoredDelivery[],
): Promise<readonly (StoredDelivery | null)[]> {
  const ids = deliveries.map(({ id }) => id)
  return database.findInOrder(database.deliveries, ids, deliveryOf)
}

export async function updateDeliveries(
  database: Database,
  deliveries: readonly StoredDelivery[],
): Promise<readonly string[]> {
  const call = randomBytes(9).toString('base64url')
  const updates = (await withoutErased(database, deliveries)).map((delivery) => {
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
  // Other writers were first for some, or an answer was lost.
  const found = await database.findByIds(database.deliveries, ids, ['written_by'])
  return ids.filter((id) => found.get(id)?.written_by === call)
}

/**
 * Returns the deliveries, without responses where the request is erased or the decision removed. A later erasure or
 * removal increments the version of each delivery that may be written with a response, so that the write that follows
 * fails.
 */
export async function withoutErased(
  database: Database,
  deliveries: readonly StoredDelivery[],
): Promise<readonly StoredDelivery[]> {
  const shown = (delivery: StoredDelivery) => isOfDecision(delivery) && hasResponse(delivery)
  const subjects = deliveries.filter(shown).map(({ event }) => event.subject)
  if (subjects.length === 0) return deliveries
  const found = await database.call(() =>
    database.decisions
      .find({ _id: { $in: subjects }, request_hash: { $ne: null } })
      .project<{ _id: string }>({ _id: 1 })
      .toArray(),
  )
  const held = new Set(found.map(({ _id }) => _id))
  return deliveries.map((delivery) =>
    shown(delivery) && !held.has(delivery.event.subject) ? withoutResponses(delivery) : delivery,
  )
}

/**
 * Removes the responses of endpoints to the events of these decisions, which are removed or whose requests are erased.
 * Also writes deliveries that wait for an attempt: see `withoutErased`. May be repeated.
 */
export async function eraseResponses(database: Database, subjects: readonly string[]): Promise<void> {
  for (;;) {
    const found = await database.call(() => database.deliveries.find({ subject: { $in: [...subjects] } }).toArray())
    // A damaged delivery may contain a response, so it is removed.
    const damaged: string[] = []
    const deliveries = ofSoundRows(found, deliveryOf, ({ id }) => damaged.push(id))
    if (damaged.length > 0) await database.call(() => database.deliveries.deleteMany({ _id: { $in: damaged } }))
    const updates = deliveries
      .filter((delivery) => delivery.status === 'pending' || hasResponse(delivery))
      .map((delivery) => {
        const { _id, version, document } = documentOf({ ...withoutResponses(delivery), version: delivery.version + 1 })
        return { updateOne: { filter: { _id, version: version - 1 }, update: { $set: { version, document } } } }
      })
    if (updates.length === 0) return
    const written = await database.call(() => database.deliveries.bulkWrite(updates, { ordered: false }))
    // Other writers were first for some.
    if (written.matchedCount === updates.length) return
  }
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
  const due: StoredDelivery[] = []
  const seen: string[] = []
  for (;;) {
    const found = await database.call(() =>
      database.deliveries
        .find({
          'due.webhook_id': { $eq: webhookId },
          'due.next_ms': { $lte: Date.parse(now) },
          ...(seen.length > 0 && { _id: { $nin: seen } }),
        })
        .sort({ 'due.next_ms': 1 })
        .limit(limit)
        .toArray(),
    )
    due.push(...ofSoundRows(found, deliveryOf, leaveOut))
    if (found.length < limit || due.length >= limit) return due.slice(0, limit)
    seen.push(...found.map(({ _id }) => _id))
  }
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
    subject: event.subject,
    at_ms: Date.parse(created_at),
    status,
    ...(due !== undefined && { due }),
    written_by: null,
    document: JSON.stringify(delivery),
  }
}

export function deliveryOf({
  _id: id,
  version,
  document,
}: Pick<DeliveryDocument, '_id' | 'version' | 'document'>): StoredDelivery {
  return rowDocument('delivery', { id, version }, document)
}

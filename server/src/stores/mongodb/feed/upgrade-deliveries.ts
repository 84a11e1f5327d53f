import { ofSoundRows } from '../../../ports/store/row-document.js'
import type { Database } from '../connection/database.js'
import { deliveryOf, withoutErased } from './deliveries.js'

const LARGEST_CHUNK = 500

/**
 * Adds to deliveries from before schema version 5 the subject by which an erasure finds them, and removes the responses
 * of those whose requests are already erased. Damaged ones stay as they are. May be repeated, and run by several
 * processes at once.
 */
export async function upgradeDeliveries(database: Database): Promise<void> {
  const { deliveries } = database
  const damaged: string[] = []
  for (;;) {
    // A missing member and null are equal for a query, and in the index.
    const found = await database.call(() =>
      deliveries
        .find({ subject: null as never, _id: { $nin: damaged } })
        .limit(LARGEST_CHUNK)
        .toArray(),
    )
    if (found.length === 0) return
    const sound = ofSoundRows(found, deliveryOf, ({ id }) => damaged.push(id))
    if (sound.length === 0) continue
    const upgraded = await withoutErased(database, sound)
    const updates = upgraded.map((delivery) => {
      const $set = { subject: delivery.event.subject, document: JSON.stringify(delivery) }
      return { updateOne: { filter: { _id: delivery.id, version: delivery.version }, update: { $set } } }
    })
    await database.call(() => deliveries.bulkWrite(updates, { ordered: false }))
  }
}

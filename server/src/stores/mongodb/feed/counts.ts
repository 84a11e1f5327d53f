import type { CountFilter, StoredCount } from '../../../ports/store/feed.js'
import { type Database, duplicatesOf } from '../connection/database.js'
import type { CountDocument } from '../stored.js'

const DIGITS = 16

/** The order of saves as text for comparison: by fence, then by number. */
export function orderOf(fence: number, saves: number): string {
  return [fence, saves].map((number) => String(number).padStart(DIGITS, '0')).join('/')
}

/** Writes the counts of a save. A count of a later save stays as it is, because a frozen holder may come too late. */
export async function writeCounts(database: Database, counts: readonly StoredCount[], order: string): Promise<void> {
  const updates = counts.map(({ id, series, starts_ms, document }) => ({
    updateOne: {
      filter: { _id: id, order: { $lt: order } },
      update: { $set: { series, starts_ms, order, document: JSON.stringify(document) } },
      // If a later count or this very one exists, the insert finds its id taken.
      upsert: true,
    },
  }))
  if (updates.length === 0) return
  await database.call(async () => {
    try {
      await database.counts.bulkWrite(updates, { ordered: false })
    } catch (error) {
      duplicatesOf(error)
    }
  })
}

export async function findCounts(
  database: Database,
  counts: readonly StoredCount[],
): Promise<readonly (StoredCount | null)[]> {
  const ids = counts.map(({ id }) => id)
  return database.findInOrder(database.counts, ids, countOf)
}

export async function listCounts(
  database: Database,
  { series, from_ms, to_ms }: CountFilter,
  limit: number,
): Promise<readonly StoredCount[]> {
  const found = await database.call(() =>
    database.counts
      .find({ series: { $eq: series }, starts_ms: { $gte: from_ms, $lt: to_ms } })
      .sort({ starts_ms: 1, _id: 1 })
      .limit(limit)
      .toArray(),
  )
  return found.map(countOf)
}

function countOf({ _id, series, starts_ms, document }: CountDocument): StoredCount {
  return { id: _id, series, starts_ms, document: JSON.parse(document) }
}

const LARGEST_REMOVAL = 1000

export async function removeCounts(database: Database, series: string, beforeMs: number): Promise<number> {
  const found = await database.call(() =>
    database.counts
      .find({ series: { $eq: series }, starts_ms: { $lt: beforeMs } })
      .sort({ starts_ms: 1, _id: 1 })
      .limit(LARGEST_REMOVAL)
      .project<{ _id: string }>({ _id: 1 })
      .toArray(),
  )
  const ids = found.map(({ _id }) => _id)
  if (ids.length > 0) await database.call(() => database.counts.deleteMany({ _id: { $in: ids } }))
  return ids.length
}

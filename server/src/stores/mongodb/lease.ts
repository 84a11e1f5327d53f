import type { Database } from './connection/database.js'

interface Request {
  readonly name: string
  readonly holder: string
  readonly forMs: number
  readonly nowMs: number
}

/** Takes a lease, or extends it. */
export async function holdLease(database: Database, { name, holder, forMs, nowMs }: Request): Promise<boolean> {
  const { leases } = database
  const found = await database.call(() => leases.findOne({ _id: name }))
  if (found === null) await database.insertNew(leases, [{ _id: name, holder, until_ms: 0 }])
  else if (found.holder !== holder && found.until_ms > nowMs) return false
  const isFree = { $or: [{ holder }, { until_ms: { $lte: nowMs } }] }
  const { matchedCount } = await database.call(() =>
    leases.updateOne({ _id: name, ...isFree }, { $set: { holder, until_ms: nowMs + forMs } }),
  )
  return matchedCount === 1
}

/** Releases the leases of a process for the next holder. */
export async function releaseLeases(database: Database, holder: string): Promise<void> {
  const { leases } = database
  await database.call(() => leases.updateMany({ holder }, { $set: { until_ms: 0 } }))
}

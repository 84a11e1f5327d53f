import type { Database } from './database.js'

interface Request {
  readonly name: string
  readonly holder: string
  readonly forMs: number
  readonly nowMs: number
}

/** Takes a lease, or holds it for longer. `token` rises whenever it changes hands. */
export async function holdLease(database: Database, { name, holder, forMs, nowMs }: Request): Promise<boolean> {
  const { leases } = database
  const until_ms = nowMs + forMs
  await database.insertNew(leases, [{ _id: name, holder, until_ms: 0, token: 1 }])
  const held = await database.call(() => leases.updateOne({ _id: name, holder }, { $set: { until_ms } }))
  if (held.matchedCount === 1) return true
  await database.call(() =>
    leases.updateOne({ _id: name, until_ms: { $lte: nowMs } }, { $set: { holder, until_ms }, $inc: { token: 1 } }),
  )
  const found = await database.call(() => leases.findOne({ _id: name }))
  return found?.holder === holder
}

import type { Database } from '../connection/database.js'
import type { Claim } from '../stored.js'

/**
 * Finishes the erasure of requests, as far as the writes of these decisions have begun one. Those writes remove all that a
 * decision holds of its request but the hash, by which the claim of the call that asked is told from other claims of the
 * decision. The hash goes last, so that this may be repeated, by any process, until it is done.
 */
export async function finishErasures(database: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const { decisions, claims } = database
  const begun = await database.call(() =>
    decisions
      .find({ _id: { $in: [...ids] }, erased_hash: { $exists: true } })
      .project<{ _id: string; erased_hash: string }>({ erased_hash: 1 })
      .toArray(),
  )
  if (begun.length === 0) return
  const hashes = new Map(begun.map(({ _id, erased_hash }) => [_id, erased_hash]))
  const named = await database.call(() =>
    claims
      .find({ subject: { $in: [...hashes.keys()] } })
      .project<Pick<Claim, '_id' | 'claim' | 'subject' | 'fingerprint'>>({ claim: 1, subject: 1, fingerprint: 1 })
      .toArray(),
  )
  const ofRequests = named.filter(({ subject, fingerprint }) => fingerprint === hashes.get(subject))
  const forgotten = ofRequests.map(({ _id, claim }) => {
    return { updateOne: { filter: { _id, claim }, update: { $set: { fingerprint: null } } } }
  })
  if (forgotten.length > 0) await database.call(() => claims.bulkWrite(forgotten, { ordered: false }))
  const finished = begun.map(({ _id, erased_hash }) => {
    return { updateOne: { filter: { _id, erased_hash }, update: { $unset: { erased_hash: 1 as const } } } }
  })
  await database.call(() => decisions.bulkWrite(finished, { ordered: false }))
}

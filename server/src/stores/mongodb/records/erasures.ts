import type { Database } from '../connection/database.js'
import { eraseResponses } from '../feed/deliveries.js'
import type { Claim } from '../stored.js'

/**
 * Completes the erasure of requests that the writes of these decisions have begun. Those writes remove every part of
 * the request from a decision but the hash, which distinguishes the claim of the call that asked from other claims of
 * the decision. The responses of webhook endpoints are removed with it. The hash is removed last, so that any process
 * may repeat this until it is done.
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
  await eraseResponses(database, [...hashes.keys()])
  const finished = begun.map(({ _id, erased_hash }) => {
    return { updateOne: { filter: { _id, erased_hash }, update: { $unset: { erased_hash: 1 as const } } } }
  })
  await database.call(() => decisions.bulkWrite(finished, { ordered: false }))
}

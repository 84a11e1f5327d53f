import { randomUUID } from 'node:crypto'
import type { IdempotencyRecord } from '../../../ports/store/documents.js'
import type { IdempotencyName } from '../../../ports/store/idempotency.js'
import { textId } from '../budgets/account-id.js'
import { auditId, isSameEntry } from '../collections/audit.js'
import { openAmong } from '../collections/decisions.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { Claim, EntryPosition, PrimaryName } from '../stored.js'
import { readPrimary } from './read-primary.js'

function claimId({ key_id, operation, key }: IdempotencyName): string {
  return textId(JSON.stringify([key_id, operation, key]))
}

/** One attempt to take the name of a call. */
export function claimOf(record: IdempotencyRecord, position: EntryPosition | null, primary: PrimaryName | null): Claim {
  const { key_id, operation, key, fingerprint, status, subject, created_at, expires_at } = record
  return {
    _id: claimId(record),
    claim: randomUUID(),
    key_id,
    operation,
    key,
    fingerprint,
    status,
    subject,
    created_ms: Date.parse(created_at),
    expires_ms: Date.parse(expires_at),
    place: position,
    home: primary,
  }
}

export async function findIdempotency(
  database: Database,
  name: IdempotencyName,
  now: string,
): Promise<IdempotencyRecord | null> {
  const found = await database.findById(database.claims, claimId(name))
  if (found === null) return null
  const nowMs = Date.parse(now)
  const counts = found.expires_ms > nowMs || (await openAmong(database, [found.subject], nowMs)).size > 0
  return counts && (await isCommitted(database, found)) ? recordOf(found) : null
}

/** Writes the names of calls that are committed, whatever becomes of their records. */
export async function insertClaimed(database: Database, records: readonly IdempotencyRecord[]): Promise<void> {
  await database.insertNew(
    database.claims,
    records.map((record) => claimOf(record, null, null)),
  )
}

export async function findClaimed(
  database: Database,
  records: readonly IdempotencyRecord[],
): Promise<readonly (IdempotencyRecord | null)[]> {
  return database.findInOrder(database.claims, records.map(claimId), recordOf)
}

/** Returns the names among these that are taken by calls which are still valid when the new ones are created. */
export async function isTaken(database: Database, claims: readonly Claim[]): Promise<ReadonlySet<string>> {
  const others = await otherClaims(database, claims)
  return new Set([...others].flatMap(([id, { counts }]) => (counts ? [id] : [])))
}

/**
 * Creates the claim again for the next attempt, so that writes of the last attempt that are still in progress do not
 * affect it.
 */
export function claimAnew(claim: Claim): Claim {
  return { ...claim, claim: randomUUID() }
}

/** Releases what one attempt has taken. */
export async function releaseNames(database: Database, claims: readonly Claim[]): Promise<void> {
  const deletions = claims.map(({ _id, claim }) => ({ deleteOne: { filter: { _id, claim } } }))
  if (deletions.length > 0) await database.call(() => database.claims.bulkWrite(deletions, { ordered: false }))
}

/** Releases what all attempts of a record have taken that will never be committed. */
export async function releaseName(
  database: Database,
  _id: string,
  { log, index, entry_id }: EntryPosition,
): Promise<void> {
  const ofThat = { 'place.log': log, 'place.index': index, 'place.entry_id': entry_id }
  await database.call(() => database.claims.deleteOne({ _id, ...ofThat }))
}

/** Takes free names of calls. False when one is not free: then some of the others may be taken. */
export async function takeNames(database: Database, claims: readonly Claim[]): Promise<boolean> {
  const there = await database.insertNew(database.claims, claims)
  const clashing = [...there].map((i) => claims[i] as Claim)
  const others = await otherClaims(database, clashing)
  const replaced = await allDone(
    clashing.map(async ({ _id, ...claim }) => {
      const other = others.get(_id)
      if (other?.counts) return false
      // Replaces only the claim that was found invalid: another may have replaced it since.
      if (other !== undefined)
        await database.call(() => database.claims.updateOne({ _id, claim: other.claim }, { $set: claim }))
      const now = await database.call(() => database.claims.findOne({ _id }, { projection: { claim: 1 } }))
      return now?.claim === claim.claim
    }),
  )
  return replaced.every(Boolean)
}

interface OtherClaim {
  readonly claim: string
  readonly counts: boolean
}

/**
 * Returns the claims of others to these names, and whether they are valid when the new calls are created. A claim is
 * valid while its record has an intent or is committed. A claim of an earlier attempt of the same record is not valid.
 */
async function otherClaims(database: Database, claims: readonly Claim[]): Promise<ReadonlyMap<string, OtherClaim>> {
  if (claims.length === 0) return new Map()
  const byId = new Map(claims.map((claim) => [claim._id, claim]))
  const present = await database.call(() => database.claims.find({ _id: { $in: [...byId.keys()] } }).toArray())
  const others = present.filter((there) => there.claim !== byId.get(there._id)?.claim)
  return new Map(
    await Promise.all(
      others.map(async (there): Promise<[string, OtherClaim]> => {
        const { created_ms, place } = byId.get(there._id) as Claim
        if (place !== null && isSameEntry(there.place, place)) return [there._id, { claim: there.claim, counts: false }]
        const isLive =
          there.expires_ms > created_ms || (await openAmong(database, [there.subject], created_ms)).size > 0
        const counts = isLive && ((await hasIntent(database, there)) || (await isCommitted(database, there)))
        return [there._id, { claim: there.claim, counts }]
      }),
    ),
  )
}

async function hasIntent(database: Database, { place }: Claim): Promise<boolean> {
  if (place === null) return false
  const log = await database.call(() =>
    database.logs.findOne({ _id: place.log }, { projection: { 'group.entry_id': 1 } }),
  )
  return log?.group.some(({ entry_id }) => entry_id === place.entry_id) ?? false
}

/** Whether the record of a claim is committed. A record with an intent may still become so. */
async function isCommitted(database: Database, { place: position, home: primary }: Claim): Promise<boolean> {
  if (position === null || primary === null) return true
  // Reads the primary first, because it drops its last record only after the entry is in the log.
  const last = (await readPrimary(database, primary, { last: 1 }))?.last ?? null
  if (isSameEntry(last, position)) return true
  const found = await database.call(() =>
    database.audit.findOne({ _id: auditId(position) }, { projection: { id: 1, type: 1 } }),
  )
  return found !== null && found.id === position.entry_id && found.type !== 'void'
}

const LARGEST_PURGE = 1000

type Old = Pick<Claim, '_id' | 'claim' | 'subject' | 'expires_ms'>

export async function purgeIdempotency(database: Database, now: string): Promise<number> {
  const nowMs = Date.parse(now)
  let after: Old | null = null
  for (;;) {
    const old = await oldClaims(database, nowMs, after)
    const open = await openAmong(
      database,
      old.map(({ subject }) => subject),
      nowMs,
    )
    const over = old.filter(({ subject }) => !open.has(subject))
    if (over.length > 0) {
      const deletions = over.map(({ _id, claim }) => ({ deleteOne: { filter: { _id, claim } } }))
      await database.call(() => database.claims.bulkWrite(deletions, { ordered: false }))
      return over.length
    }
    if (old.length < LARGEST_PURGE) return 0
    after = old.at(-1) ?? null
  }
}

function oldClaims(database: Database, nowMs: number, after: Old | null): Promise<readonly Old[]> {
  const range =
    after === null
      ? {}
      : { $or: [{ expires_ms: { $gt: after.expires_ms } }, { expires_ms: after.expires_ms, _id: { $gt: after._id } }] }
  return database.call(() =>
    database.claims
      .find({ $and: [{ expires_ms: { $lte: nowMs } }, range] })
      .sort({ expires_ms: 1, _id: 1 })
      .limit(LARGEST_PURGE)
      .project<Old>({ claim: 1, subject: 1, expires_ms: 1 })
      .toArray(),
  )
}

function recordOf({ key_id, operation, key, fingerprint, status, subject, ...claim }: Claim): IdempotencyRecord {
  return {
    key_id,
    operation,
    key,
    fingerprint,
    status,
    subject,
    created_at: new Date(claim.created_ms).toISOString(),
    expires_at: new Date(claim.expires_ms).toISOString(),
  }
}

import { type Document, MongoClient } from 'mongodb'
import { DamagedRecordError, NewerSchemaError } from '../../ports/store/errors.js'
import { MovedStoreError } from '../../ports/store/move.js'
import { loadAgents } from './collections/agents.js'
import { loadKeys } from './collections/keys.js'
import { loadPoliciesOfSet, POLICIES } from './collections/policies.js'
import { Database, isReplicated } from './connection/database.js'
import { mongoFailure } from './connection/failure.js'
import { assertFit, UnfitDatabaseError } from './connection/unfit-database.js'
import { addressOf, readMongoUrl } from './connection/url.js'
import { KNOWN_SCHEMA, SCHEMA } from './schema.js'
import { assertKnownSchema } from './set-up.js'
import type { SchemaDocument } from './stored.js'

export interface MongoInspection {
  readonly address: string
  readonly version: string
  /** Whether it is a replica set or a sharded cluster. */
  readonly isReplicated: boolean
  /** Null before the first start. */
  readonly schema: number | null
  /** The schema version of this release. */
  readonly knownSchema: number
  /** Milliseconds since 1970; null without an entry. */
  readonly newestEntryAt: number | null
}

/** Says what is wrong, without the credentials that the URL may contain. */
class UnusableMongoError extends Error {
  override readonly name = 'UnusableMongoError'
}

const DEADLINE_MS = 3000

/** Errors whose message says what to do. */
const KEPT = [NewerSchemaError, MovedStoreError, DamagedRecordError, UnfitDatabaseError]

/**
 * Inspects the MongoDB of a URL, and changes nothing.
 *
 * @throws NewerSchemaError, MovedStoreError, UnusableMongoError, UnfitDatabaseError, DamagedRecordError
 */
export async function inspectMongoStore(url: string): Promise<MongoInspection> {
  const address = addressOf(url)
  let client: MongoClient | null = null
  try {
    client = new MongoClient(url, {
      appName: 'countersign doctor',
      serverSelectionTimeoutMS: DEADLINE_MS,
      connectTimeoutMS: DEADLINE_MS,
      socketTimeoutMS: DEADLINE_MS,
    })
    const found = await inspect(client, url)
    if (found.schema !== null) await assertOwnDocuments(url)
    return { address, ...found }
  } catch (error) {
    if (KEPT.some((kind) => error instanceof kind)) throw error
    throw new UnusableMongoError(mongoFailure(url, error))
  } finally {
    await client?.close()
  }
}

/** Checks the documents that a server loads at its start. */
async function assertOwnDocuments(url: string): Promise<void> {
  const database = await Database.open(url)
  try {
    const directory = await database.call(() => database.policyDirectory.findOne({ _id: POLICIES }))
    await loadPoliciesOfSet(database, directory?.policy_set ?? 0)
    await loadAgents(database)
    await loadKeys(database)
  } finally {
    await database.close()
  }
}

async function inspect(client: MongoClient, url: string): Promise<Omit<MongoInspection, 'address'>> {
  const db = client.db(readMongoUrl(url)?.database)
  const admin = client.db('admin')
  const buildInfo = await admin.command({ buildInfo: 1 })
  assertFit(buildInfo, url)
  const schema = await db.collection<SchemaDocument>('meta').findOne({ _id: SCHEMA })
  assertKnownSchema(schema, url)
  const newest = await db.collection<Document>('audit').findOne({}, { sort: { at_ms: -1, id: -1 } })
  return {
    version: String(buildInfo.version),
    isReplicated: await isReplicated(client),
    schema: schema?.version ?? null,
    knownSchema: KNOWN_SCHEMA,
    newestEntryAt: (newest?.at_ms ?? null) as number | null,
  }
}

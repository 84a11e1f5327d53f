import { NewerSchemaError } from '@countersign/store-port/store'
import { type Document, MongoClient } from 'mongodb'
import { mongoFailure } from './connection/failure.js'
import { addressOf, readMongoUrl } from './connection/url.js'
import { assertKnownSchema, KNOWN_SCHEMA, SCHEMA } from './set-up.js'
import type { SchemaDocument } from './stored.js'

export interface MongoInspection {
  readonly address: string
  readonly version: string
  /** A replica set, or shards of them. */
  readonly isReplicated: boolean
  /** Null before the first start. */
  readonly schema: number | null
  /** The one that this release works on. */
  readonly knownSchema: number
  /** Milliseconds since 1970, null without an entry. */
  readonly newestEntryAt: number | null
}

/** What is wrong, without the credentials that the URL may hold. */
class UnusableMongoError extends Error {
  override readonly name = 'UnusableMongoError'
}

const DEADLINE_MS = 3000

/**
 * Looks at the MongoDB of a URL, and changes nothing.
 *
 * @throws NewerSchemaError, UnusableMongoError
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
    return { address, ...(await inspect(client, url)) }
  } catch (error) {
    if (error instanceof NewerSchemaError) throw error
    throw new UnusableMongoError(mongoFailure(url, error))
  } finally {
    await client?.close()
  }
}

async function inspect(client: MongoClient, url: string): Promise<Omit<MongoInspection, 'address'>> {
  const db = client.db(readMongoUrl(url)?.database)
  const admin = client.db('admin')
  // By its older name, which every server knows.
  const hello = await admin.command({ isMaster: 1 })
  const { version } = await admin.command({ buildInfo: 1 })
  const schema = await db.collection<SchemaDocument>('meta').findOne({ _id: SCHEMA })
  assertKnownSchema(schema, url)
  const newest = await db.collection<Document>('audit').findOne({}, { sort: { at_ms: -1, id: -1 } })
  return {
    version: String(version),
    isReplicated: hello.setName !== undefined || hello.msg === 'isdbgrid',
    schema: schema?.version ?? null,
    knownSchema: KNOWN_SCHEMA,
    newestEntryAt: (newest?.at_ms ?? null) as number | null,
  }
}

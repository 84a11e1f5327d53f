import { type Document, MongoClient } from 'mongodb'
import { readMongoUrl } from './url.js'

export type MongoInspection =
  | {
      readonly address: string
      readonly version: string
      /** A replica set, or shards of them. */
      readonly isReplicated: boolean
      /** Milliseconds since 1970, null without an entry. */
      readonly newestEntryAt: number | null
    }
  /** What is wrong, without the credentials that the URL may hold. */
  | { readonly address: string; readonly failure: string }

const DEADLINE_MS = 3000
const AUTHENTICATION_FAILED = 18
const UNAUTHORIZED = 13

/** Looks at the MongoDB of a URL, and changes nothing. */
export async function inspectMongoStore(url: string): Promise<MongoInspection> {
  const parts = readMongoUrl(url)
  if (parts === null) return { address: 'MONGODB_URL', failure: 'it is no URL of MongoDB' }
  const address = `${parts.hosts}/${parts.database}`
  let client: MongoClient | null = null
  try {
    const options = {
      serverSelectionTimeoutMS: DEADLINE_MS,
      connectTimeoutMS: DEADLINE_MS,
      socketTimeoutMS: DEADLINE_MS,
    }
    client = new MongoClient(url, { appName: 'countersign doctor', ...options })
    const db = client.db(parts.database)
    const admin = client.db('admin')
    // By its older name, which every server knows.
    const hello = await admin.command({ isMaster: 1 })
    const { version } = await admin.command({ buildInfo: 1 })
    const newest = await db.collection<Document>('audit').findOne({}, { sort: { at_ms: -1, id: -1 } })
    return {
      address,
      version: String(version),
      isReplicated: hello.setName !== undefined || hello.msg === 'isdbgrid',
      newestEntryAt: (newest?.at_ms ?? null) as number | null,
    }
  } catch (error) {
    return { address, failure: failureOf(error as Error & { readonly code?: unknown }) }
  } finally {
    await client?.close()
  }
}

function failureOf({ name, code }: Error & { readonly code?: unknown }): string {
  if (code === AUTHENTICATION_FAILED) return 'it refuses the user or the password'
  if (code === UNAUTHORIZED) return 'the user may not read the database'
  if (name === 'MongoServerSelectionError') return `it does not answer within ${DEADLINE_MS / 1000} s`
  return `it cannot be used (${name})`
}

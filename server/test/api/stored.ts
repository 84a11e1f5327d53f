import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Document, MongoClient } from 'mongodb'
import { Connection } from '#server/stores/sqlite/driver'
import { databaseOf, ON_MONGODB } from '../open-test-store.js'
import type { RunningServer } from '../running-server.js'
import { mongoUrl } from '../stores/mongodb/open-mongo-store.js'

/** What no request writes: when a key was used last, which is saved now and then, how far the feed has read, and the trees. */
const UNRECORDED: ReadonlySet<string> = new Set(['key_uses', 'readers', 'counts', 'tree_nodes', 'log_checkpoints'])
/**
 * A delivery counts as long as its webhook is there. What becomes of it does not: the feed attempts it, and removes it, whenever
 * it comes to it.
 */
const OF_THE_FEED = 'deliveries'
/** What the feed finds out about budgets it tells of a little after the decision. */
const isAlarm = ({ type, operation }: Document) => /^budget\./.test(type ?? operation ?? '')

type Stored = Readonly<Record<string, number | string>>

interface Reader {
  readonly db: Connection
  /** SQLite's own count of what others committed, when `found` was read. */
  version: number
  found: Stored
}

const readers = new Map<string, Reader>()

/**
 * All that the store holds, as how many rows each table has and a digest of them: equal before and after a request means
 * that the request changed nothing, not even a row that it then put back differently.
 */
export async function stored({ dataDir }: Pick<RunningServer, 'dataDir'>): Promise<Stored> {
  return ON_MONGODB ? storedOnMongodb(databaseOf(dataDir)) : storedInFile(dataDir)
}

function storedInFile(dataDir: string): Stored {
  let reader = readers.get(dataDir)
  if (reader === undefined) {
    reader = { db: Connection.openReadOnly(join(dataDir, 'countersign.db')), version: -1, found: {} }
    readers.set(dataDir, reader)
  }
  const version = reader.db.get('PRAGMA data_version')?.data_version as number
  if (version !== reader.version) Object.assign(reader, { version, found: read(reader.db) })
  return reader.found
}

function read(db: Connection): Stored {
  const digest = createHash('sha256')
  const found: Record<string, number | string> = {}
  const webhooks = new Set(db.all('SELECT id FROM webhooks').map(({ id }) => id))
  for (const { name } of db.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")) {
    const table = name as string
    const all = UNRECORDED.has(table) ? [] : db.all(`SELECT * FROM ${table} ORDER BY 1, 2`)
    // The row numbers tell how many alarms came between.
    const rows = all.filter((row) => !isAlarm(row)).map(({ seq, ...row }) => row)
    found[table] = rows.length
    if (table === OF_THE_FEED) found[table] = rows.filter(({ webhook_id }) => webhooks.has(webhook_id)).length
    else digest.update(JSON.stringify([table, rows]))
  }
  return { ...found, digest: digest.digest('hex') }
}

/** The collections by the names of the tables, with the members that tell how a write went about and not what it wrote. */
const COLLECTIONS: Readonly<Record<string, readonly [collection: string, aside: readonly string[]]>> = {
  accounts: ['accounts', ['v', 'marks', 'marked_ms', 'is_used']],
  agent_revisions: ['agent_revisions', []],
  agents: ['agents', ['rev']],
  audit_entries: ['audit', []],
  decisions: ['decisions', ['rev', 'ledger', 'unsettled']],
  deliveries: ['deliveries', []],
  idempotency: ['claims', []],
  keys: ['key_directory', ['rev']],
  meta: ['secrets', []],
  policies: ['policies', []],
  sightings: ['sightings', []],
  webhooks: ['webhook_directory', ['rev']],
}
/** Collections with one document that holds all, and the member that holds them. */
const DIRECTORIES: Readonly<Record<string, string>> = { keys: 'keys', webhooks: 'webhooks' }

let client: MongoClient | null = null

/** An account in which every reservation was given back is as good as none. */
function isUsed({ is_used, spent, reserved }: Document): boolean {
  return is_used !== false || spent !== '0' || reserved !== '0'
}

/** Everything that is in a database, as text. */
export async function dumpOf(database: string): Promise<string> {
  client ??= new MongoClient(mongoUrl(''))
  const db = client.db(database)
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  return JSON.stringify(await Promise.all(collections.map(({ name }) => db.collection(name).find().toArray())))
}

async function storedOnMongodb(database: string): Promise<Stored> {
  client ??= new MongoClient(mongoUrl(''))
  const digest = createHash('sha256')
  const found: Record<string, number | string> = {}
  const directory = await client.db(database).collection('webhook_directory').findOne()
  const webhooks: object = directory?.webhooks ?? {}
  for (const [name, [collection, aside]] of Object.entries(COLLECTIONS)) {
    const all = await client.db(database).collection(collection).find().sort({ _id: 1 }).toArray()
    const rows = all.filter((row) => isUsed(row) && !isAlarm(row))
    for (const row of rows) for (const member of aside) delete row[member]
    const held = DIRECTORIES[name]
    found[name] = held === undefined ? rows.length : Object.keys(rows[0]?.[held] ?? {}).length
    if (name === OF_THE_FEED) found[name] = rows.filter(({ webhook_id }) => webhook_id in webhooks).length
    else digest.update(JSON.stringify([name, rows]))
  }
  return { ...found, digest: digest.digest('hex') }
}

import { NewerSchemaError } from '../../ports/store/errors.js'
import { MovedStoreError } from '../../ports/store/move.js'
import { KEYS } from './collections/keys.js'
import { POLICIES } from './collections/policies.js'
import { WEBHOOKS } from './collections/webhooks.js'
import { Database } from './connection/database.js'
import { addressOf } from './connection/url.js'
import { freeAllReaders } from './feed/readers.js'
import { upgradeDeliveries } from './feed/upgrade-deliveries.js'
import { INDEXES } from './indexes.js'
import { freeAllLogs } from './records/log-document.js'
import { KNOWN_SCHEMA, SCHEMA } from './schema.js'
import type { SchemaDocument } from './stored.js'

/** Building an index of a large collection may take any time. */
const AS_LONG_AS_IT_TAKES = 0

/**
 * Creates what the store needs before the first record and lacks, after checking that no newer release has written
 * there.
 *
 * @throws NewerSchemaError, MovedStoreError, UnfitDatabaseError: nothing was changed; StoreUnavailableError
 */
export async function setUp(url: string): Promise<void> {
  const database = await Database.open(url, AS_LONG_AS_IT_TAKES)
  try {
    await assertNotNewer(database, url)
    await makeIndexes(database)
    await database.insertNew(database.meta, [{ _id: SCHEMA, version: KNOWN_SCHEMA }])
    // Another process may have been first.
    await assertNotNewer(database, url)
    await raiseSchema(database)
    await upgradeDeliveries(database)
    await makeDirectories(database)
  } finally {
    await database.close()
  }
}

/**
 * Raises the schema version, and ends what open servers of older releases have under way. They look at the version before
 * they take a log or a reader again: so from then on they write no record. If this is interrupted, the next start ends it.
 */
async function raiseSchema(database: Database): Promise<void> {
  const { meta } = database
  const isOlder = { _id: SCHEMA, version: { $lt: KNOWN_SCHEMA } }
  await database.call(() => meta.updateOne(isOlder, { $set: { version: KNOWN_SCHEMA, is_raised: true } }))
  const isRaised = { _id: SCHEMA, version: KNOWN_SCHEMA, is_raised: true } as const
  if ((await database.call(() => meta.findOne(isRaised))) === null) return
  await freeAllLogs(database)
  await freeAllReaders(database)
  await database.call(() => meta.updateOne(isRaised, { $unset: { is_raised: 1 } }))
}

/** Creates what an empty database lacks for the records that move to it. */
export async function makeIndexesAndDirectories(url: string): Promise<void> {
  const database = await Database.open(url, AS_LONG_AS_IT_TAKES)
  try {
    await makeIndexes(database)
    await makeDirectories(database)
  } finally {
    await database.close()
  }
}

async function makeIndexes(database: Database): Promise<void> {
  await Promise.all(Object.entries(INDEXES).map(([name, indexes]) => database.makeIndexes(name, indexes)))
}

async function assertNotNewer(database: Database, url: string): Promise<void> {
  assertKnownSchema(await database.call(() => database.meta.findOne({ _id: SCHEMA })), url)
}

/**
 * @param found null before the first start
 * @throws NewerSchemaError, MovedStoreError
 */
export function assertKnownSchema(found: SchemaDocument | null, url: string): void {
  if (found === null) return
  const location = `MongoDB at ${addressOf(url)}`
  const { version, move } = found
  if (move !== undefined && move.kind !== 'completed')
    throw MovedStoreError.ofTarget(location, { isGivenUp: move.kind === 'undone' })
  if (version > KNOWN_SCHEMA) throw new NewerSchemaError(location, version, KNOWN_SCHEMA)
}

async function makeDirectories(database: Database): Promise<void> {
  const directory = { rev: 1, last: null }
  await database.insertNew(database.policyDirectory, [
    { ...directory, _id: POLICIES, policy_set: 0, live: {}, written: null },
  ])
  await database.insertNew(database.keyDirectory, [{ ...directory, _id: KEYS, keys: {} }])
  await database.insertNew(database.webhookDirectory, [{ ...directory, _id: WEBHOOKS, webhooks: {} }])
}

import { NewerSchemaError } from '../../ports/store/errors.js'
import { KEYS } from './collections/keys.js'
import { POLICIES } from './collections/policies.js'
import { WEBHOOKS } from './collections/webhooks.js'
import { Database } from './connection/database.js'
import { addressOf } from './connection/url.js'
import { upgradeDeliveries } from './feed/upgrade-deliveries.js'
import { INDEXES } from './indexes.js'
import type { SchemaDocument } from './stored.js'

/** The id of the only document of `meta`. */
export const SCHEMA = 'schema'

/** The schema version of this release: incremented by every change that an older release would misread. */
export const KNOWN_SCHEMA = 5

/** Building an index of a large collection may take any time. */
const AS_LONG_AS_IT_TAKES = 0

/**
 * Creates what the store needs before the first record and lacks, after checking that no newer release has written
 * there.
 *
 * @throws NewerSchemaError: nothing was changed; StoreUnavailableError
 */
export async function setUp(url: string): Promise<void> {
  const database = await Database.open(url, AS_LONG_AS_IT_TAKES)
  try {
    await assertNotNewer(database, url)
    await Promise.all(Object.entries(INDEXES).map(([name, indexes]) => database.makeIndexes(name, indexes)))
    await database.insertNew(database.meta, [{ _id: SCHEMA, version: KNOWN_SCHEMA }])
    // Another process may have been first.
    await assertNotNewer(database, url)
    await upgradeDeliveries(database)
    const isOlder = { _id: SCHEMA, version: { $lt: KNOWN_SCHEMA } }
    await database.call(() => database.meta.updateOne(isOlder, { $set: { version: KNOWN_SCHEMA } }))
    await makeDirectories(database)
  } finally {
    await database.close()
  }
}

async function assertNotNewer(database: Database, url: string): Promise<void> {
  assertKnownSchema(await database.call(() => database.meta.findOne({ _id: SCHEMA })), url)
}

/**
 * @param found null before the first start
 * @throws NewerSchemaError
 */
export function assertKnownSchema(found: SchemaDocument | null, url: string): void {
  if (found !== null && found.version > KNOWN_SCHEMA)
    throw new NewerSchemaError(`MongoDB at ${addressOf(url)}`, found.version, KNOWN_SCHEMA)
}

async function makeDirectories(database: Database): Promise<void> {
  const directory = { rev: 1, last: null }
  await database.insertNew(database.policyDirectory, [
    { ...directory, _id: POLICIES, policy_set: 0, live: {}, written: null },
  ])
  await database.insertNew(database.keyDirectory, [{ ...directory, _id: KEYS, keys: {} }])
  await database.insertNew(database.webhookDirectory, [{ ...directory, _id: WEBHOOKS, webhooks: {} }])
}

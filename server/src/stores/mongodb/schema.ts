/** The version of the layout of the data, which a newer release raises while servers of older releases may be open. */
import { StoreUnavailableError } from '../../ports/store/errors.js'
import type { Database } from './connection/database.js'

/** The id of the only document of `meta`. */
export const SCHEMA = 'schema'

/** The schema version of this release: incremented by every change that an older release would misread. */
export const KNOWN_SCHEMA = 5

/** While no server may use the data: newer than any release. */
export const UNSERVED_SCHEMA = 1_000_000_000

/**
 * Checks that the data have the layout that this release reads and writes. If not, this process sends MongoDB nothing more.
 *
 * @throws StoreUnavailableError
 */
export async function assertOwnSchema(database: Database): Promise<void> {
  const found = await database.call(() => database.meta.findOne({ _id: SCHEMA }))
  if (found === null || found.version === KNOWN_SCHEMA) return
  const what = `The data in MongoDB have schema version ${found.version}, and this server works with version ${KNOWN_SCHEMA}`
  const reason =
    found.version > KNOWN_SCHEMA
      ? 'a newer release has upgraded them. Start the newer release, and stop this server.'
      : 'an older copy was restored. Restart this server.'
  throw database.retire(new StoreUnavailableError(`${what}: ${reason}`))
}

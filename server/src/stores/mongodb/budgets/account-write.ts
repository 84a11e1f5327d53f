import { StoreUnavailableError } from '../../../ports/store/errors.js'
import { type Database, duplicatesOf, mayPass } from '../connection/database.js'
import type { AccountDocument } from '../stored.js'

/** An account as it was read, and its new state. */
export interface AccountWrite {
  readonly before: AccountDocument
  readonly after: AccountDocument
}

/**
 * Writes accounts independently. Returns false for an account that another process wrote first, or whose outcome is
 * unknown: it must be read again. Where the version does not match, the upsert finds the id taken, so the answer says
 * which ones were too late.
 */
export async function replaceAccounts(
  database: Database,
  writes: readonly AccountWrite[],
): Promise<readonly boolean[]> {
  database.assertOpen()
  const updates = writes.map(({ before: { v }, after: { _id, ...members } }) => ({
    updateOne: { filter: { _id, v }, update: { $set: members }, upsert: true },
  }))
  try {
    await database.accounts.bulkWrite(updates, { ordered: false })
    return writes.map(() => true)
  } catch (error) {
    if (mayPass(error)) return writes.map(() => false)
    try {
      const late = duplicatesOf(error)
      return writes.map((_, i) => !late.has(i))
    } catch (cause) {
      throw new StoreUnavailableError('The account could not be written.', { cause })
    }
  }
}

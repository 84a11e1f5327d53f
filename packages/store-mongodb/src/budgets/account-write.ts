import { StoreUnavailableError } from '@countersign/store-port/store'
import { type Database, isDuplicate, mayPass } from '../connection/database.js'
import type { AccountDocument } from '../stored.js'

/** Writes an account as it was read and changed. False when somebody else was faster, or when that is not known: read it again. */
export async function replaceAccount(
  database: Database,
  before: AccountDocument,
  after: AccountDocument,
): Promise<boolean> {
  database.assertOpen()
  const { accounts } = database
  const { _id, ...members } = after
  try {
    if (before.v === 0) await accounts.insertOne(after)
    else return (await accounts.updateOne({ _id, v: before.v }, { $set: members })).matchedCount === 1
    return true
  } catch (error) {
    if (isDuplicate(error) || mayPass(error)) return false
    throw new StoreUnavailableError('The account could not be written.', { cause: error })
  }
}

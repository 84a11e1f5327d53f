import type { AccountKey } from '@countersign/contract'
import { BudgetBusyError } from '../../ports/ledger.js'
import { accountKeyOf } from './account-id.js'
import type { Database } from './database.js'
import { type Followers, finishGroup } from './finish-group.js'
import type { AccountDocument, DecisionHome } from './stored.js'
import { syncAccount } from './sync-account.js'

/** What is so old was left behind: whoever had it in hand has died, or was given up. */
export const LEFT_BEHIND_MS = 30_000
const BATCH = 500

/**
 * Finishes what processes left half done that died: any process may do it at any time, also several at once.
 *
 * @param olderThanMs what is younger is left alone, to save work: nothing goes wrong with 0
 * @throws StoreUnavailableError
 */
export async function recover(
  database: Database,
  followers: Followers,
  nowMs: number,
  olderThanMs = LEFT_BEHIND_MS,
): Promise<void> {
  const before = nowMs - olderThanMs
  await finishLogs(database, followers, nowMs)
  const sync = async (account: AccountKey, decisions: readonly string[]): Promise<void> => {
    try {
      await syncAccount(database, followers.settlements, account, decisions)
    } catch (error) {
      // The next run tries again; the others are not to wait for it.
      if (!(error instanceof BudgetBusyError)) throw error
    }
  }
  for (const account of await markedAccounts(database, before)) {
    const old = Object.values(account.marks).filter(({ at_ms }) => at_ms <= before)
    await sync(account, [...new Set(old.map(({ decision }) => decision))])
  }
  for (const { _id, ledger } of await unsettledDecisions(database, before)) {
    for (const { key } of Object.values(ledger)) await sync(accountKeyOf(key), [_id])
    await clearUnsettled(database, _id)
  }
}

/** Takes over the logs of processes that have died in the middle of a group, and leaves them to the next that starts. */
async function finishLogs(database: Database, followers: Followers, nowMs: number): Promise<void> {
  const left = await database.call(() =>
    database.logs.find({ until_ms: { $lt: nowMs }, holder: { $ne: null } }).toArray(),
  )
  for (const { _id, epoch } of left) {
    await database.call(() => database.logs.updateOne({ _id, epoch }, { $set: { epoch: epoch + 1, holder: null } }))
    // Read anew: until the epoch was raised its writer may have announced another group.
    const taken = await database.call(() => database.logs.findOne({ _id, epoch: epoch + 1 }))
    if (taken !== null) await finishGroup(database, followers, taken)
  }
}

function markedAccounts(database: Database, before: number): Promise<readonly AccountDocument[]> {
  return database.call(() =>
    database.accounts
      .find({ marked_ms: { $ne: null, $lte: before } })
      .limit(BATCH)
      .toArray(),
  )
}

function unsettledDecisions(database: Database, before: number): Promise<readonly DecisionHome[]> {
  return database.call(() =>
    database.decisions
      .find({ unsettled: { $exists: true, $lte: before } })
      .limit(BATCH)
      .toArray(),
  )
}

async function clearUnsettled(database: Database, id: string): Promise<void> {
  const decision = await database.call(() => database.decisions.findOne({ _id: id }))
  if (decision === null || Object.values(decision.ledger).some(({ due, booked }) => due.n !== booked.n)) return
  await database.call(() => database.decisions.updateOne({ _id: id, rev: decision.rev }, { $unset: { unsettled: 1 } }))
}

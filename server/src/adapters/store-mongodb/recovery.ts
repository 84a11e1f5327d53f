import { accountOf, draftOf, drop, newAccount, openedAt, ownMark, remove, settle } from './account-steps.js'
import { replaceAccount } from './account-write.js'
import type { Database } from './database.js'
import { fenceDecision, insertVoid } from './fences.js'
import { type Followers, finishGroup } from './finish-group.js'
import type { AccountDocument, DecisionHome } from './stored.js'

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
  for (const { _id, marks } of await markedAccounts(database, before))
    for (const { decision, at_ms } of Object.values(marks))
      if (at_ms <= before) await syncAccount(database, decision, _id, nowMs)
  for (const { _id, ledger } of await unsettledDecisions(database, before)) {
    for (const account of Object.keys(ledger)) await syncAccount(database, _id, account, nowMs)
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

/** Brings an account to what a decision is due, and takes out every mark of the decision. */
export async function syncAccount(database: Database, decision: string, account: string, nowMs: number): Promise<void> {
  while (!(await syncOnce(database, decision, account, nowMs)));
}

/** One step; true when nothing is left to do. */
async function syncOnce(database: Database, id: string, account: string, nowMs: number): Promise<boolean> {
  // The account first: a decision that was read before it may have been settled there since.
  const found = await database.call(() => database.accounts.findOne({ _id: account }))
  const decision = await database.call(() => database.decisions.findOne({ _id: id }))
  if (decision === null) {
    // Nothing may come any more that would make its marks stand.
    await insertVoid(database, id)
    return false
  }
  const line = decision.ledger[account]
  const before = found ?? (line === undefined ? null : newAccount(account, line.key, openedAt(nowMs, 0, account)))
  if (before === null) return true
  const draft = draftOf(before)
  const foreign = Object.values(draft.marks).find(
    ({ decision: owner, attempt }) => owner === id && attempt !== null && attempt !== decision.attempt,
  )
  if (foreign !== undefined) {
    // While the decision is as the attempt found it, the attempt may still stand.
    if (foreign.rev === decision.rev) await fenceDecision(database, decision)
    else {
      remove(draft, foreign.attempt as string)
      await replaceAccount(database, before, accountOf(draft))
    }
    return false
  }
  if (line === undefined) return true
  const mark = ownMark(draft, id, decision.attempt)
  if ((mark ?? line.booked).n < line.due.n) {
    settle(draft, decision, nowMs)
    await replaceAccount(database, before, accountOf(draft))
    return false
  }
  if (mark === undefined) return true
  if (line.booked.n < line.due.n) {
    // The mark goes only once the booking was read.
    await database.call(() =>
      database.decisions.updateOne(
        { _id: id, [`ledger.${account}.booked.n`]: { $lt: line.due.n } },
        { $set: { [`ledger.${account}.booked`]: line.due } },
      ),
    )
    return false
  }
  for (const name of [id, decision.attempt ?? id]) drop(draft, name)
  draft.is_used = true
  await replaceAccount(database, before, accountOf(draft))
  return false
}

async function clearUnsettled(database: Database, id: string): Promise<void> {
  const decision = await database.call(() => database.decisions.findOne({ _id: id }))
  if (decision === null || Object.values(decision.ledger).some(({ due, booked }) => due.n !== booked.n)) return
  await database.call(() => database.decisions.updateOne({ _id: id, rev: decision.rev }, { $unset: { unsettled: 1 } }))
}

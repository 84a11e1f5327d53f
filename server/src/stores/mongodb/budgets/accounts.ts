import type { AccountKey } from '@countersign/contract'
import { patternTest } from '@countersign/contract/pattern-match'
import { type AccountFilter, accountText } from '../../../ports/store/accounts.js'
import type { StoredAccount } from '../../../ports/store/documents.js'
import type { MovedAccount } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { equality, pageOf } from '../collections/pages.js'
import type { Database } from '../connection/database.js'
import type { AccountDocument } from '../stored.js'
import { accountId } from './account-id.js'
import { newAccount, openedAt, openingOrder } from './account-steps.js'

export async function readAccounts(database: Database, keys: readonly AccountKey[]): Promise<readonly StoredAccount[]> {
  const ids = keys.map(accountId)
  const byId = await database.findByIds(database.accounts, ids)
  return Promise.all(
    keys.map(async ({ policy_id, unit, period, agent_id, starts_at }, i) => {
      const account = byId.get(ids[i] as string)
      const { spent, reserved } = account === undefined ? ZEROS : await committedBalance(database, account)
      return { policy_id, unit, period, agent_id, starts_at, spent: String(spent), reserved: String(reserved) }
    }),
  )
}

const ZEROS = { spent: 0n, reserved: 0n, isUsed: false }

export function listAccounts(
  database: Database,
  filter: AccountFilter,
  page: PageRequest,
): Promise<Page<StoredAccount>> {
  const { agents, scope } = filter
  const test = agents === null ? null : patternTest(agents)
  const sums = new Map<string, typeof ZEROS>()
  return pageOf(
    database,
    {
      collection: database.accounts,
      conditions: [
        ...(filter.is_reserved === true ? [{ is_reserved: true }] : []),
        ...equality('policy_id', filter.policy_id),
        ...equality('unit', filter.unit),
        ...equality('period', filter.period),
        ...equality('starts_at', filter.starts_at),
        ...(scope === undefined ? [] : [{ agent_id: scope === 'policy' ? null : { $ne: null } }]),
      ],
      by: ['opened'],
      keep: async (account) => {
        if (test !== null && account.agent_id !== null && !test(account.agent_id)) return false
        const sum = await committedBalance(database, account)
        sums.set(account._id, sum)
        return sum.isUsed && (filter.is_reserved !== true || sum.reserved !== 0n)
      },
    },
    ({ _id, policy_id, unit, period, agent_id, starts_at }) => {
      const { spent, reserved } = sums.get(_id) as typeof ZEROS
      return { policy_id, unit, period, agent_id, starts_at, spent: String(spent), reserved: String(reserved) }
    },
    page,
  )
}

/** Returns the amounts of committed decisions, without the marks of reservations that no record has committed. */
async function committedBalance(
  database: Database,
  { _id, spent, reserved, marks, is_used }: AccountDocument,
): Promise<typeof ZEROS> {
  const sum = { spent: BigInt(spent), reserved: BigInt(reserved), isUsed: is_used }
  const attempts = Object.values(marks).filter(({ attempt }) => attempt !== null)
  if (attempts.length < Object.keys(marks).length) sum.isUsed = true
  if (attempts.length === 0) return sum
  const named = attempts.map(({ decision }) => decision)
  const decisions = await database.findByIds(database.decisions, named, ['attempt'])
  const committed = new Set([...decisions.values()].map(({ attempt }) => attempt))
  for (const mark of attempts) {
    if (committed.has(mark.attempt)) sum.isUsed = true
    else {
      sum.spent -= BigInt(mark.spent)
      sum.reserved -= BigInt(mark.reserved)
    }
  }
  return sum
}

/** Writes accounts whose decisions have no pending work. They were opened before any that a server of this store opens. */
export async function insertAccounts(database: Database, accounts: readonly MovedAccount[]): Promise<void> {
  const documents = accounts.map(({ account, order }): AccountDocument => {
    const id = accountId(account)
    const { spent, reserved } = account
    return {
      ...newAccount(id, accountText(account), openedAt(0, order, id)),
      ...{ v: 1, spent, reserved, is_reserved: BigInt(reserved) !== 0n, is_used: true },
    }
  })
  await database.insertNew(database.accounts, documents)
}

export async function findAccountsInOrder(
  database: Database,
  accounts: readonly MovedAccount[],
): Promise<readonly (MovedAccount | null)[]> {
  const keys = accounts.map(({ account }) => account)
  const [stored, found] = await Promise.all([
    readAccounts(database, keys),
    database.findByIds(database.accounts, keys.map(accountId), ['opened']),
  ])
  return stored.map((account) => {
    const opened = found.get(accountId(account))?.opened
    return opened === undefined ? null : { account, order: openingOrder(opened) }
  })
}

import type { AccountKey } from '@countersign/contract'
import { patternTest } from '@countersign/contract/pattern-match'
import type { AccountFilter } from '../../../ports/store/accounts.js'
import type { StoredAccount } from '../../../ports/store/documents.js'
import type { MovedAccount } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { type Condition, equality, pageOf, type Scan } from '../scan-newest-first.js'

/**
 * Replaces null in the columns of an account's key (no agent, no start), because SQLite never treats two nulls as
 * equal.
 */
const NONE = ''

const IS_ACCOUNT = 'policy_id = ? AND unit = ? AND period = ? AND starts_at = ? AND agent_id = ?'

function keyValues({ policy_id, unit, period, starts_at, agent_id }: AccountKey) {
  return [policy_id, unit, period, starts_at ?? NONE, agent_id ?? NONE] as const
}

/** Returns zeros for an unused account. */
export function readAccount(db: Connection, account: AccountKey): StoredAccount {
  const row = db.get(`SELECT spent, reserved FROM accounts WHERE ${IS_ACCOUNT}`, ...keyValues(account))
  const { policy_id, unit, period, agent_id, starts_at } = account
  return {
    policy_id,
    unit,
    period,
    agent_id,
    starts_at,
    spent: (row?.spent ?? '0') as string,
    reserved: (row?.reserved ?? '0') as string,
  }
}

/** Returns all of them as of one moment. */
export function readAccounts(db: Connection, accounts: readonly AccountKey[]): readonly StoredAccount[] {
  return db.snapshot(() => accounts.map((account) => readAccount(db, account)))
}

export function writeAccount(db: Connection, account: StoredAccount): void {
  db.run(
    `INSERT INTO accounts (policy_id, unit, period, starts_at, agent_id, spent, reserved)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (policy_id, unit, period, starts_at, agent_id) DO UPDATE SET spent = ?6, reserved = ?7`,
    ...keyValues(account),
    account.spent,
    account.reserved,
  )
}

export function listAccounts(db: Connection, filter: AccountFilter, page: PageRequest): Promise<Page<StoredAccount>> {
  return pageOf(db, accountScan(filter), page, {
    read: (seq) => db.get('SELECT * FROM accounts WHERE seq = ?', seq),
    make: accountOf,
  })
}

export function readAllAccounts(db: Connection, page: PageRequest): Promise<Page<MovedAccount>> {
  return readInOrder(db, 'accounts', page, {
    read: (seq) => db.get('SELECT * FROM accounts WHERE seq = ?', seq),
    make: (row) => ({ account: accountOf(row), order: row.seq as number }),
  })
}

/** The narrowest index first. */
function accountScan(filter: AccountFilter): Scan {
  const { agents } = filter
  return {
    table: 'accounts',
    by: 'seq',
    index: null,
    conditions: [
      ...ofOnePeriod(filter),
      ...(filter.is_reserved === true ? [{ sql: "reserved <> '0'", values: [], index: 'accounts_reserved' }] : []),
      ...equality('policy_id', filter.policy_id, 'accounts_by_policy'),
      ...equality('unit', filter.unit, null),
      ...equality('period', filter.period, null),
      ...equality('starts_at', startOf(filter), null),
      ...ofScope(filter),
    ],
    keep: agents === null ? undefined : { column: 'agent_id', test: agentTest(agents) },
  }
}

/** The accounts of one budget in one period. */
function ofOnePeriod(filter: AccountFilter): readonly Condition[] {
  const values = [filter.policy_id, filter.unit, filter.period, startOf(filter)]
  if (!values.every((value) => value !== undefined)) return []
  return [{ sql: 'policy_id = ? AND unit = ? AND period = ? AND starts_at = ?', values, index: 'accounts_by_start' }]
}

function ofScope({ scope }: AccountFilter): readonly Condition[] {
  if (scope === undefined) return []
  return [{ sql: `agent_id ${scope === 'policy' ? '=' : '<>'} ?`, values: [NONE], index: null }]
}

function startOf({ starts_at }: AccountFilter): string | undefined {
  return starts_at === null ? NONE : starts_at
}

function agentTest(patterns: readonly string[]): (agentId: string) => boolean {
  const test = patternTest(patterns)
  return (agentId) => agentId === NONE || test(agentId)
}

function accountOf(row: Row): StoredAccount {
  return {
    policy_id: row.policy_id as string,
    unit: row.unit as string,
    period: row.period as StoredAccount['period'],
    agent_id: row.agent_id === NONE ? null : (row.agent_id as string),
    starts_at: row.starts_at === NONE ? null : (row.starts_at as string),
    spent: row.spent as string,
    reserved: row.reserved as string,
  }
}

/**
 * What every store has to keep of its port's promises. The cases are plain functions, so that they can also be run
 * against stores that break a promise on purpose.
 */
import { afterEach, beforeEach, describe, it } from 'vitest'
import { ACCOUNT_CASES } from './accounts.js'
import { AGENT_CASES } from './agents.js'
import { AUDIT_CASES } from './audit-entries.js'
import { COMMIT_CASES } from './commit.js'
import { COUNT_CASES } from './counts.js'
import { DECISION_LIST_CASES } from './decision-lists.js'
import { DECISION_CASES } from './decisions.js'
import { DELIVERY_CASES } from './deliveries.js'
import { ERASURE_CASES } from './erasure.js'
import { FEED_READ_CASES } from './feed-reads.js'
import { IDEMPOTENCY_CASES } from './idempotency.js'
import { KEY_CASES } from './keys.js'
import { LEDGER_CASES } from './ledger.js'
import { PARALLEL_LEDGER_CASES } from './ledger-in-parallel.js'
import { LIFE_CASES } from './life.js'
import { OVERDUE_CASES } from './overdue.js'
import { PAGES_BY_BYTES_CASES } from './pages-by-bytes.js'
import { POLICY_CASES } from './policies.js'
import { READ_LOG_CASES } from './read-log.js'
import { READER_CASES } from './readers.js'
import { REMOVAL_CASES } from './removal.js'
import type { OpenedStore, StoreCase } from './store-case.js'
import { TREE_CASES } from './trees.js'
import { WEBHOOK_CASES } from './webhooks.js'

export const STORE_CASES: readonly StoreCase[] = [
  ...COMMIT_CASES,
  ...DECISION_CASES,
  ...DECISION_LIST_CASES,
  ...OVERDUE_CASES,
  ...REMOVAL_CASES,
  ...ERASURE_CASES,
  ...LEDGER_CASES,
  ...PARALLEL_LEDGER_CASES,
  ...ACCOUNT_CASES,
  ...POLICY_CASES,
  ...AGENT_CASES,
  ...KEY_CASES,
  ...IDEMPOTENCY_CASES,
  ...AUDIT_CASES,
  ...READ_LOG_CASES,
  ...PAGES_BY_BYTES_CASES,
  ...WEBHOOK_CASES,
  ...READER_CASES,
  ...DELIVERY_CASES,
  ...COUNT_CASES,
  ...TREE_CASES,
  ...FEED_READ_CASES,
  ...LIFE_CASES,
]

export interface SuiteOptions {
  /** The titles of cases that the database cannot hold, each with the reason. They do not run. */
  readonly doesNotHold?: Readonly<Record<string, string>>
  /** Of how many cases one runs. */
  readonly oneOf?: number
}

/** Runs every case on a new, empty store. */
export function storeSuite(
  name: string,
  open: () => Promise<OpenedStore>,
  { doesNotHold = {}, oneOf = 1 }: SuiteOptions = {},
): void {
  const titles = STORE_CASES.map(({ title }) => title)
  const unknown = Object.keys(doesNotHold).filter((title) => !titles.includes(title))
  if (unknown.length > 0) throw new Error(`The suite has no such case: ${unknown.join(', ')}`)
  describe(name, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.destroy())
    const held = STORE_CASES.filter(({ title }) => doesNotHold[title] === undefined)
    for (const { title, run } of held.filter((_, i) => i % oneOf === 0)) it(title, () => run(opened))
  })
}

/** The suite of the store on FerretDB, but for what needs two updates of one document to know of each other. */
import { stress } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openMongoFeedStore } from '#server/stores/mongodb/open-feed'
import { ACCOUNT_CASES } from '../store-suite/accounts.js'
import { COUNT_CASES } from '../store-suite/counts.js'
import { DELIVERY_CASES } from '../store-suite/deliveries.js'
import { FEED_READ_CASES } from '../store-suite/feed-reads.js'
import { type OpenedStore, storeSuite } from '../store-suite/index.js'
import { LEDGER_CASES } from '../store-suite/ledger.js'
import { PARALLEL_LEDGER_CASES } from '../store-suite/ledger-in-parallel.js'
import { READER_CASES } from '../store-suite/readers.js'
import type { StoreCase } from '../store-suite/store-case.js'
import { TREE_CASES } from '../store-suite/trees.js'
import { Ferretdb } from './ferretdb.js'

const MONEY = [...LEDGER_CASES, ...PARALLEL_LEDGER_CASES, ...ACCOUNT_CASES]
const FEED = [...READER_CASES, ...DELIVERY_CASES, ...COUNT_CASES, ...TREE_CASES, ...FEED_READ_CASES]

/** What FerretDB cannot hold. docs/storage.md says the same. */
const DOES_NOT_HOLD: Readonly<Record<string, string>> = {
  ...reasonOf(
    MONEY,
    'two conditional updates of one account or decision may both succeed, so an amount is counted twice',
  ),
  ...reasonOf(FEED, 'two conditional updates of one reader or delivery may both succeed, so it has two holders'),
  'finds the few among many, page by page': 'it filters in memory, which takes longer than a list may',
}

function reasonOf(cases: readonly StoreCase[], reason: string): Record<string, string> {
  return Object.fromEntries(cases.map(({ title }) => [title, reason]))
}

let ferretdb: Ferretdb
let url: string
let client: MongoClient
beforeAll(async () => {
  ferretdb = await Ferretdb.start()
  url = ferretdb.disguisedUrl('countersign')
  client = await MongoClient.connect(url)
})
afterAll(async () => {
  await client.close()
  await ferretdb.end()
})

/** A database of its own for each case would take a second and a half. */
async function openInEmptyDatabase(): Promise<OpenedStore> {
  const open = () => openMongoStore({ url })
  let store = await open()
  return {
    store,
    async reopen() {
      await store.close()
      store = await open()
      return store
    },
    openFeedReads: () => openMongoFeedStore({ url, nowMs: Date.now }),
    async destroy() {
      await store.close()
      for (const collection of await client.db().collections()) await collection.deleteMany({})
    },
  }
}

storeSuite('the store on FerretDB', openInEmptyDatabase, {
  doesNotHold: DOES_NOT_HOLD,
  oneOf: stress.store_cases_for_each_on_ferretdb,
})

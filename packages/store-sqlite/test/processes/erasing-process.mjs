/** Erases the requests of all decisions of a store in a data directory, and wipes its files. Says how far it is. */

import { instant, LogPen, updateOf } from '@countersign/testkit/store-suite'
import { openSqliteStore } from '#store-sqlite/open'

const [, , dataDir] = process.argv
const store = await openSqliteStore({ dataDir })
const pen = await LogPen.of(store)
const { items } = await store.listDecisions({ agents: null, now: instant(0) }, { limit: 200, after: null })
console.log('open')
const erased = { resource: null, request_hash: null, request_erased_at: instant(9) }
await pen.commit(...items.map(({ decision }) => ({ ...updateOf(decision, erased), erases_request: true })))
console.log('erased')
await store.wipe()
console.log('wiped')
await store.close()

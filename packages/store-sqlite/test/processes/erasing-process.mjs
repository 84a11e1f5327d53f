/**
 * Erases the requests of all decisions of a store in a data directory, and wipes its files. Says how far it is. With a second
 * argument it waits for a line of input before it wipes, and when that has failed; then it commits and wipes once more.
 */
import { createInterface } from 'node:readline'
import { createOf, decisionOf, instant, LogPen, updateOf } from '@countersign/testkit/store-suite'
import { openSqliteStore } from '#store-sqlite/open'

const [, , dataDir, isStepwise] = process.argv
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const store = await openSqliteStore({ dataDir })
const pen = await LogPen.of(store)
const { items } = await store.listDecisions({ agents: null, now: instant(0) }, { limit: 200, after: null })
console.log('open')
const erased = { resource: null, request_hash: null, request_erased_at: instant(9) }
await pen.commit(...items.map(({ decision }) => ({ ...updateOf(decision, erased), erases_request: true })))
console.log('erased')
if (isStepwise === 'stepwise') {
  await lines.next()
  await store.wipe().catch(({ message }) => console.log(`failed ${message}`))
  await lines.next()
  await pen.commit(createOf(decisionOf(1000)))
  console.log('committed')
}
await store.wipe()
console.log('wiped')
await store.close()
process.exit()

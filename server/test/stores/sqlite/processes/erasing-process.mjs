/**
 * Erases the requests of all decisions of a store in a data directory, and wipes its files. Says how far it is. With a second
 * argument it waits for a line of input before it wipes, and when that has failed; then it commits the change in that line and wipes
 * once more.
 */
import { createInterface } from 'node:readline'
import { openSqliteStore } from '#server/stores/sqlite/open'

const [, , dataDir, isStepwise] = process.argv
const NOW = '2026-11-21T10:00:00.000Z'
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const store = await openSqliteStore({ dataDir })
const { log, next_index } = await store.openLog()
let nextIndex = next_index
const { items } = await store.decisions.list({ agents: null, now: NOW }, { limit: 200, after: null })
console.log('open')
await commit(items.map(({ decision }) => erasureOf(decision)))
console.log('erased')
if (isStepwise === 'stepwise') {
  await lines.next()
  await store.wipe().catch(({ message }) => console.log(`failed ${message}`))
  const { value: change } = await lines.next()
  await commit([JSON.parse(change)])
  console.log('committed')
}
await store.wipe()
console.log('wiped')
await store.close()
process.exit()

function erasureOf(decision) {
  const erased = { resource: null, request_hash: null, request_erased_at: '2026-11-21T10:00:09.000Z' }
  const { version } = decision
  return {
    kind: 'decision.update',
    decision: { ...decision, ...erased, version: version + 1 },
    expected_version: version,
    reservation: null,
    erases_request: true,
  }
}

async function commit(changes) {
  await store.commit(changes.map((change) => ({ change, entry: entryOf(change.decision), idempotency: null })))
}

function entryOf({ id, agent_id }) {
  const index = nextIndex++
  const number = String(index).padStart(26, '0')
  const about = { type: 'decision.created', actor: null, subject: id, agent_id, data: { index } }
  return { id: `aud_${number}`, log, index, at: NOW, ...about, leaf: `leaf-${index}` }
}

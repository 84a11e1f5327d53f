/**
 * What an idempotency key costs a decision, on the embedded store and on MongoDB: decisions with keys against decisions
 * without, one at a time and in groups of 64.
 * Run: node bench/idempotency.mjs (MONGODB_URL, else the server for tests)
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMongoStore } from '../server/dist/stores/mongodb/open.js'
import { openSqliteStore } from '../server/dist/stores/sqlite/open.js'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { StoredDecisions } from './parts/stored-decisions.mjs'

const ROUNDS = 9
const SIZES = { 1: 100, 64: 12 }

const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const database = await benchDatabase()
const stores = {
  embedded: await openSqliteStore({ dataDir: directory }),
  mongodb: await openMongoStore({ url: database.url }),
}
try {
  const cases = {}
  for (const [name, store] of Object.entries(stores)) {
    const decisions = await StoredDecisions.on(store)
    for (const [size, groups] of Object.entries(SIZES))
      for (const hasKeys of [false, true]) {
        // Microseconds for a decision.
        cases[`${name} ${size} ${hasKeys}`] = async () => {
          const started = performance.now()
          for (let group = 0; group < groups; group += 1) await decisions.write(Number(size), hasKeys)
          return ((performance.now() - started) * 1000) / (groups * Number(size))
        }
      }
  }
  const figures = await inTurns(ROUNDS, cases)
  for (const name of Object.keys(stores))
    for (const size of Object.keys(SIZES)) {
      const [without, having] = [false, true].map((hasKeys) => figures[`${name} ${size} ${hasKeys}`])
      console.log(
        `${name.padEnd(9)} groups of ${size.padStart(2)}  without a key ${median(without).toFixed(0).padStart(5)} us  ` +
          `with a key ${median(having).toFixed(0).padStart(5)} us  ratio ${ratioOf(having, without).toFixed(2)}`,
      )
    }
} finally {
  for (const store of Object.values(stores)) await store.close()
  await database.drop()
  await rm(directory, { recursive: true })
}

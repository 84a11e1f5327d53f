/**
 * What a reservation costs on MongoDB with 10,000 open holds in its account, against 10: alone, one at a time, and with the
 * records that make it stand, in groups of 32. The holds are decisions: those whose record is still on
 * its way are bounded at 2,000 an account. And how many reservations a second go through one account and are given back, 32
 * at a time, of one process of a server and of three that contend for it.
 * Run: node bench/ledger-mongodb.mjs (MONGODB_URL, else the server for tests)
 */
import { openMongoStore } from '../server/dist/stores/mongodb/open.js'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { StoredDecisions } from './parts/stored-decisions.mjs'

const ROUNDS = 7
const SINGLES = 60
const GROUPS = 6
const GROUP = 32
const FILLED_BY = 250
const [FEW, MANY] = [10, 10_000]
const GOAL = 2
const CALLERS = 32
const CONTEND_MS = 1000

/** Milliseconds for a reservation that is released again. */
async function alone(decisions, account) {
  const started = performance.now()
  await decisions.release(await decisions.reserve(account))
  return performance.now() - started
}

/** Milliseconds for a reservation with the record that makes it stand. */
async function withRecords(decisions, account) {
  const started = performance.now()
  const written = await hold(decisions, account, GROUP)
  const elapsedMs = performance.now() - started
  // The server for tests looks for each that changes among all there are, so these go a few at a time.
  while (written.length > 0) await decisions.giveUp(written.splice(0, 8))
  return elapsedMs / GROUP
}

/** Microseconds of the same in each account, one account after the other at every step. */
async function sideBySide(time, steps, decisions, accounts) {
  const sums = accounts.map(() => 0)
  for (let step = 0; step < steps; step += 1)
    for (let i = 0; i < accounts.length; i += 1) {
      const at = (step + i) % accounts.length
      sums[at] += await time(decisions, accounts[at])
    }
  return sums.map((sum) => (sum * 1000) / steps)
}

async function hold(decisions, account, count) {
  return decisions.stand(await Promise.all(Array.from({ length: count }, () => decisions.reserve(account))))
}

/** Reservations a second. */
async function contend(stores, account) {
  const started = performance.now()
  const isOver = () => performance.now() - started > CONTEND_MS
  let count = 0
  const call = async (store, caller) => {
    for (let number = 0; !isOver(); number += 1) {
      const demands = [{ account, amount: 1n, limit: 10n ** 15n }]
      const decision_id = `dec_${stores.indexOf(store)}-${caller}-${number}`
      const { reservation } = await store.ledger.reserve({ decision_id, version: 0, demands })
      await store.ledger.release(reservation)
      count += 1
    }
  }
  await Promise.all(stores.flatMap((store) => Array.from({ length: CALLERS }, (_, caller) => call(store, caller))))
  return (count * 1000) / (performance.now() - started)
}

const database = await benchDatabase()
const others = [await openMongoStore({ url: database.url }), await openMongoStore({ url: database.url })]
const store = await openMongoStore({ url: database.url })
try {
  const decisions = await StoredDecisions.on(store)
  const accounts = []
  for (const holds of [FEW, MANY]) {
    const account = { policy_id: `${holds}`, unit: 'eur', period: 'total', agent_id: null, starts_at: null }
    for (let left = holds; left > 0; left -= FILLED_BY) await hold(decisions, account, Math.min(left, FILLED_BY))
    accounts.push(account)
  }
  const hot = { policy_id: 'hot', unit: 'eur', period: 'total', agent_id: null, starts_at: null }
  const figures = await inTurns(ROUNDS, {
    alone: () => sideBySide(alone, SINGLES, decisions, accounts),
    'with records': () => sideBySide(withRecords, GROUPS, decisions, accounts),
    'of one': () => contend([store], hot),
    'of three': () => contend([store, ...others], hot),
  })
  let isMet = true
  for (const what of ['alone', 'with records']) {
    const [few, many] = [0, 1].map((i) => figures[what].map((pair) => pair[i]))
    const ratio = ratioOf(many, few)
    isMet &&= ratio <= GOAL
    console.log(
      `${what.padEnd(13)} ${FEW} holds: ${median(few).toFixed(0).padStart(5)} us  ` +
        `${MANY} holds: ${median(many).toFixed(0).padStart(5)} us  ratio ${ratio.toFixed(2)}`,
    )
  }
  console.log(
    `one account  ${median(figures['of one']).toFixed(0)} reservations/s of one process, ` +
      `${median(figures['of three']).toFixed(0)} of three together, ratio ${ratioOf(figures['of three'], figures['of one']).toFixed(2)}`,
  )
  console.log(`goal: with ${MANY} holds at most ${GOAL}x of ${FEW}: ${isMet ? 'met' : 'MISSED'}`)
} finally {
  for (const one of [store, ...others]) await one.close()
  await database.drop()
}

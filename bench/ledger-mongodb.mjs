/**
 * What a reservation costs on MongoDB with 10,000 open holds in its account, against 10: alone, one at a time, and with the
 * records that make it stand and give it up again, in groups of 64. The holds are decisions: those whose record is still on
 * its way are bounded at 2,000 an account.
 * Run: node bench/ledger-mongodb.mjs (MONGODB_URL, else the server for tests)
 */
import { openMongoStore } from '../server/dist/adapters/store-mongodb/open.js'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { benchDatabase } from './parts/mongodb.mjs'
import { StoredDecisions } from './parts/stored-decisions.mjs'

const ROUNDS = 7
const SINGLES = 60
const GROUPS = 2
const GROUP = 64
const FILLED_BY = 250
const [FEW, MANY] = [10, 10_000]
const GOAL = 2

/** Microseconds for a reservation that is released again. */
async function timeAlone(decisions, account) {
  const started = performance.now()
  for (let i = 0; i < SINGLES; i += 1) await decisions.release(await decisions.reserve(account))
  return ((performance.now() - started) * 1000) / SINGLES
}

/** Microseconds for a reservation with both records of its decision. */
async function timeDurable(decisions, account) {
  const started = performance.now()
  for (let group = 0; group < GROUPS; group += 1) await decisions.giveUp(await hold(decisions, account, GROUP))
  return ((performance.now() - started) * 1000) / (GROUPS * GROUP)
}

async function hold(decisions, account, count) {
  return decisions.stand(await Promise.all(Array.from({ length: count }, () => decisions.reserve(account))))
}

const database = await benchDatabase()
const store = await openMongoStore({ url: database.url })
try {
  const decisions = await StoredDecisions.on(store)
  const times = { alone: timeAlone, 'with records': timeDurable }
  const cases = {}
  for (const holds of [FEW, MANY]) {
    const account = { policy_id: `${holds}`, unit: 'eur', period: 'total', agent_id: null, starts_at: null }
    for (let left = holds; left > 0; left -= FILLED_BY) await hold(decisions, account, Math.min(left, FILLED_BY))
    for (const [what, time] of Object.entries(times)) cases[`${what} ${holds}`] = () => time(decisions, account)
  }
  const figures = await inTurns(ROUNDS, cases)
  let isMet = true
  for (const what of Object.keys(times)) {
    const [few, many] = [FEW, MANY].map((holds) => figures[`${what} ${holds}`])
    const ratio = ratioOf(many, few)
    isMet &&= ratio <= GOAL
    console.log(
      `${what.padEnd(13)} ${FEW} holds: ${median(few).toFixed(0).padStart(5)} us  ` +
        `${MANY} holds: ${median(many).toFixed(0).padStart(5)} us  ratio ${ratio.toFixed(2)}`,
    )
  }
  console.log(`goal: with ${MANY} holds at most ${GOAL}x of ${FEW}: ${isMet ? 'met' : 'MISSED'}`)
  process.exitCode = isMet ? 0 : 1
} finally {
  await store.close()
  await database.drop()
}

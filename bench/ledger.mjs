/**
 * What a reservation costs with 10,000 open holds in its account, against 10: the step in memory alone, and with the
 * records that make it stand and give it up again, in groups of 64. The holds are decisions on the disk, or reservations
 * whose records are still to come. All accounts are in one store.
 * Run: node bench/ledger.mjs
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../server/dist/stores/sqlite/open.js'
import { inTurns, median, ratioOf } from './parts/figures.mjs'
import { StoredDecisions } from './parts/stored-decisions.mjs'

const ROUNDS = 9
const IN_MEMORY = 20_000
const GROUPS = 10
const GROUP = 64
const [FEW, MANY] = [10, 10_000]
const GOAL = 2
const KINDS = ['decisions', 'reservations']

/** Microseconds for a reservation that is released again. */
async function timeInMemory(decisions, account) {
  const started = performance.now()
  for (let i = 0; i < IN_MEMORY; i += 1) await decisions.release(await decisions.reserve(account))
  return ((performance.now() - started) * 1000) / IN_MEMORY
}

/** Microseconds for a reservation with both records of its decision. */
async function timeDurable(decisions, account) {
  const started = performance.now()
  for (let group = 0; group < GROUPS; group += 1) {
    const held = await Promise.all(Array.from({ length: GROUP }, () => decisions.reserve(account)))
    const written = await decisions.stand(held)
    for (const one of held) await decisions.release(one)
    await decisions.giveUp(written)
  }
  return ((performance.now() - started) * 1000) / (GROUPS * GROUP)
}

/** An account with this many holds in it. */
async function filled(decisions, kind, holds) {
  const account = { policy_id: `${kind}-${holds}`, unit: 'eur', period: 'total', agent_id: null, starts_at: null }
  for (let left = holds; left > 0; left -= GROUP) {
    const count = Math.min(left, GROUP)
    const held = await Promise.all(Array.from({ length: count }, () => decisions.reserve(account)))
    if (kind === 'decisions') await decisions.stand(held)
  }
  return account
}

const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const store = await openSqliteStore({ dataDir: directory })
try {
  const decisions = await StoredDecisions.on(store)
  const times = { 'in memory': timeInMemory, 'with records': timeDurable }
  const cases = {}
  for (const kind of KINDS)
    for (const holds of [FEW, MANY]) {
      const account = await filled(decisions, kind, holds)
      for (const [what, time] of Object.entries(times))
        cases[`${what} ${kind} ${holds}`] = () => time(decisions, account)
    }
  const figures = await inTurns(ROUNDS, cases)
  let isMet = true
  for (const what of Object.keys(times)) {
    for (const kind of KINDS) {
      const [few, many] = [FEW, MANY].map((holds) => figures[`${what} ${kind} ${holds}`])
      const ratio = ratioOf(many, few)
      isMet &&= ratio <= GOAL
      console.log(
        `${what.padEnd(13)} holds are ${kind.padEnd(13)} ${FEW}: ${median(few).toFixed(2).padStart(7)} us  ` +
          `${MANY}: ${median(many).toFixed(2).padStart(7)} us  ratio ${ratio.toFixed(2)}`,
      )
    }
  }
  console.log(`goal: with ${MANY} holds at most ${GOAL}x of ${FEW}: ${isMet ? 'met' : 'MISSED'}`)
} finally {
  await store.close()
  await rm(directory, { recursive: true })
}

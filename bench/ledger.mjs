/**
 * What a reservation costs with 10,000 open holds in its account, against 10: the step in memory alone, and with the
 * records that make it stand and give it up again, in groups of 64. The holds are decisions on the disk, or reservations
 * whose records are still to come. All accounts are in one store and take turns in each round, and ratios are taken
 * inside a round, so that a busy machine and its disk slow them alike.
 * Run: node bench/ledger.mjs
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../server/dist/adapters/store-sqlite/open.js'

const ROUNDS = 9
const IN_MEMORY = 20_000
const GROUPS = 10
const GROUP = 64
const [FEW, MANY] = [10, 10_000]
const GOAL = 2
const AT = '2026-11-21T10:00:00.000Z'
const ENDS_AT = '2026-11-21T10:05:00.000Z'

const idOf = (prefix, number) => `${prefix}_${String(number).padStart(26, '0')}`

class Bench {
  #store
  #log
  #entries = 0
  #decisions = 0

  static async open(directory) {
    const bench = new Bench()
    bench.#store = await openSqliteStore({ dataDir: directory })
    bench.#log = (await bench.#store.openLog()).log
    return bench
  }

  close() {
    return this.#store.close()
  }

  async reserve(account) {
    const demands = [{ account, amount: 250_000n, limit: 10n ** 12n }]
    const { reservation } = await this.#store.ledger.reserve({ decision_id: idOf('dec', 0), version: 0, demands })
    if (reservation === null) throw new Error('There was no room.')
    return reservation
  }

  release(reservation) {
    return this.#store.ledger.release(reservation)
  }

  /** New decisions that hold what was reserved for them. */
  async stand(account, reservations) {
    const decisions = reservations.map(() => this.#decision(account))
    await this.#commit(
      decisions.map((decision, i) => ({
        kind: 'decision.create',
        decision,
        request: { context: { amount: 0.25, currency: 'EUR' }, salt: 's'.repeat(22) },
        reservation: reservations[i],
      })),
    )
    return decisions
  }

  async giveUp(decisions) {
    await this.#commit(
      decisions.map((decision) => ({
        kind: 'decision.update',
        decision: {
          ...decision,
          version: 2,
          status: 'rejected',
          postings: decision.postings.map((posting) => ({ ...posting, reserved: '0' })),
        },
        expected_version: 1,
        reservation: null,
      })),
    )
  }

  async #commit(changes) {
    const records = changes.map((change) => ({ change, entry: this.#entry(change.decision), idempotency: null }))
    const { written } = await this.#store.commit(records)
    if (written !== records.length) throw new Error('The store refused a record.')
  }

  #entry({ id, agent_id }) {
    const index = this.#entries++
    return {
      id: idOf('aud', index),
      log: this.#log,
      index,
      at: AT,
      type: 'decision.created',
      actor: idOf('key', 1),
      subject: id,
      agent_id,
      data: { effect: 'allow' },
      leaf: String(index).padStart(43, 'l'),
    }
  }

  #decision(account) {
    const number = this.#decisions++
    return {
      id: idOf('dec', number),
      version: 1,
      effect: 'allow',
      status: 'authorized',
      reason: null,
      reason_code: 'rule_matched',
      policy_id: account.policy_id,
      policy_revision: 1,
      policy_set: 1,
      rule: 0,
      agent_id: `agent:support-${number % 200}`,
      action: 'payment.refund',
      resource: `order:${number}`,
      latency_ms: 0.021,
      evaluated_at: AT,
      expires_at: ENDS_AT,
      budgets: [],
      postings: [{ account, amount: '250000', reads_amount: true, spent: '0', reserved: '250000' }],
      review: null,
      outcome: null,
      advice: null,
      shadow: [],
      request_hash: String(number).padStart(43, 'h'),
      key_id: idOf('key', 1),
      request_id: idOf('req', number),
      holder: null,
      claimed_at: null,
      agent_revision: 1,
      redeemed: null,
      audit: { log: this.#log, index: number, leaf: String(number).padStart(43, 'l') },
    }
  }
}

/** Microseconds for a reservation that is released again. */
async function timeInMemory(bench, account) {
  const started = performance.now()
  for (let i = 0; i < IN_MEMORY; i += 1) await bench.release(await bench.reserve(account))
  return ((performance.now() - started) * 1000) / IN_MEMORY
}

/** Microseconds for a reservation with both records of its decision. */
async function timeDurable(bench, account) {
  const started = performance.now()
  for (let group = 0; group < GROUPS; group += 1) {
    const reservations = await Promise.all(Array.from({ length: GROUP }, () => bench.reserve(account)))
    const decisions = await bench.stand(account, reservations)
    for (const reservation of reservations) await bench.release(reservation)
    await bench.giveUp(decisions)
  }
  return ((performance.now() - started) * 1000) / (GROUPS * GROUP)
}

/** Accounts with so many holds in them, by how the holds came about. */
async function fill(bench) {
  const accounts = []
  for (const kind of ['decisions', 'reservations']) {
    for (const holds of [FEW, MANY]) {
      const account = { policy_id: `${kind}-${holds}`, unit: 'eur', period: 'total', agent_id: null, starts_at: null }
      for (let left = holds; left > 0; left -= GROUP) {
        const count = Math.min(left, GROUP)
        const reservations = await Promise.all(Array.from({ length: count }, () => bench.reserve(account)))
        if (kind === 'decisions') await bench.stand(account, reservations)
      }
      accounts.push({ kind, holds, account })
    }
  }
  return accounts
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}

const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const bench = await Bench.open(directory)
try {
  const accounts = await fill(bench)
  const times = { 'in memory': timeInMemory, 'with records': timeDurable }
  const rounds = []
  for (let round = -1; round < ROUNDS; round += 1) {
    const results = new Map()
    for (const [what, time] of Object.entries(times)) {
      for (let i = 0; i < accounts.length; i += 1) {
        const { kind, holds, account } = accounts[(i + round + accounts.length) % accounts.length]
        results.set(`${what} ${kind} ${holds}`, await time(bench, account))
      }
    }
    if (round >= 0) rounds.push(results)
  }
  let isMet = true
  for (const what of Object.keys(times)) {
    for (const kind of ['decisions', 'reservations']) {
      const [few, many] = [FEW, MANY].map((holds) => rounds.map((results) => results.get(`${what} ${kind} ${holds}`)))
      const ratio = median(many.map((time, round) => time / few[round]))
      isMet &&= ratio <= GOAL
      console.log(
        `${what.padEnd(13)} holds are ${kind.padEnd(13)} ${FEW}: ${median(few).toFixed(2).padStart(7)} us  ` +
          `${MANY}: ${median(many).toFixed(2).padStart(7)} us  ratio ${ratio.toFixed(2)}`,
      )
    }
  }
  console.log(`goal: with ${MANY} holds at most ${GOAL}x of ${FEW}: ${isMet ? 'met' : 'MISSED'}`)
  process.exitCode = isMet ? 0 : 1
} finally {
  await bench.close()
  await rm(directory, { recursive: true })
}

/**
 * Many callers race for one budget, and settle in every way or not at all: it is never overspent but by what was flagged
 * as overage, and in the end it holds what the decisions add up to.
 */
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../api/ledger-model/reference-money.js'
import { type Answer, call, listAll } from './call.js'
import { endChildren } from './child.js'
import { type DrivenServer, startDriven } from './driven-server.js'
import { newDirectory, removeDirectories } from './shipped-server.js'

const CALLERS = 100
const LIMIT = micro(1000)
const START = Date.parse('2026-11-21T20:00:00.000Z')
/** Requests between two moves of the clock. */
const A_WHILE = 300

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

class Race {
  asked = 0
  allowed = 0
  polls = 0
  /** The most that confirmations above a reservation may have added by now, by the start of the period. */
  private readonly overage = new Map<string, bigint>()
  private nowMs = START
  private key = ''

  constructor(
    private readonly server: DrivenServer,
    private readonly random: () => number,
  ) {}

  async begin(): Promise<void> {
    const rules = [{ action: 'pay.create', effect: 'allow' }]
    const budget = { limit: 1000, unit: 'EUR', period: 'daily' }
    await this.server.call('POST', '/v1/policies', { body: { name: 'pay', rules, budget } })
    const asker = await this.server.call('POST', '/v1/keys', { body: { name: 'asker', scopes: ['decisions:write'] } })
    this.key = asker.body.key
  }

  get isOver(): boolean {
    return this.asked >= stress.budget_race_requests
  }

  async post(path: string, body: object): Promise<Answer> {
    const answer = await call(this.server.url, 'POST', path, { key: this.key, body })
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200)
    return answer
  }

  /** One caller, from its first request to the last one of all. */
  async run(): Promise<void> {
    while (!this.isOver) {
      this.asked += 1
      if (this.asked % A_WHILE === 0) await this.letTimePass()
      const amount = (10 + Math.floor(this.random() * 491)) / 100
      const context = { amount, currency: 'EUR' }
      const { body } = await this.post('/v1/decisions', { agent_id: 'agent:a', action: 'pay.create', context })
      if (body.effect !== 'allow') {
        expect(body.reason_code).toBe('budget_exceeded')
        continue
      }
      this.allowed += 1
      await this.settle(body, amount)
    }
  }

  /** Confirms the amount, less, or more; rejects; or never says a word. */
  private async settle({ id, budgets }: Answer['body'], amount: number): Promise<void> {
    const dice = this.random()
    if (dice < 0.15) await this.post(`/v1/decisions/${id}/confirm`, {})
    else if (dice < 0.3) await this.post(`/v1/decisions/${id}/confirm`, { amount: amount * this.random() })
    else if (dice < 0.35) {
      const more = amount * (1 + this.random() / 2)
      const [{ starts_at }] = budgets
      this.overage.set(starts_at, (this.overage.get(starts_at) ?? 0n) + micro(more) - micro(amount))
      await this.post(`/v1/decisions/${id}/confirm`, { amount: more })
    } else if (dice < 0.85) await this.post(`/v1/decisions/${id}/reject`, {})
  }

  /** Past the end of what was authorized by now; every now and then into the next day. */
  private async letTimePass(): Promise<void> {
    this.nowMs += this.random() < 0.5 ? 301_000 : 25_200_000
    await this.server.setTime(new Date(this.nowMs))
  }

  async poll(): Promise<void> {
    do {
      const rows = (await this.server.call('GET', '/v1/budgets')).body.data
      this.polls += 1
      // What was confirmed above its reservation by the time of this answer was counted before it was sent.
      for (const { starts_at, spent, reserved } of rows) {
        const most = LIMIT + (this.overage.get(starts_at) ?? 0n)
        expect(micro(spent) + micro(reserved)).toBeLessThanOrEqual(most)
      }
    } while (!this.isOver)
  }
}

/** What each account holds when all decisions are added up, by its start. */
function addUp(decisions: readonly Answer['body'][]): Map<string, { spent: bigint; reserved: bigint }> {
  const accounts = new Map<string, { spent: bigint; reserved: bigint }>()
  for (const { status, outcome, budgets } of decisions)
    for (const { starts_at, amount, reserved } of budgets) {
      if (!reserved) continue
      const account = accounts.get(starts_at) ?? { spent: 0n, reserved: 0n }
      accounts.set(starts_at, account)
      if (status === 'authorized') account.reserved += micro(amount)
      if (status === 'expired') account.spent += micro(amount)
      if (status === 'confirmed') account.spent += micro(outcome.amount)
    }
  return accounts
}

it(`${CALLERS} callers and ${stress.budget_race_requests} requests for one budget`, async () => {
  console.log(`SEED=${SEED}`)
  const server = await startDriven({ dataDir: newDirectory(), now: new Date(START) })
  const race = new Race(server, seededRandom(SEED))
  await race.begin()
  const started = performance.now()
  await Promise.all([race.poll(), ...Array.from({ length: CALLERS }, () => race.run())])
  const seconds = (performance.now() - started) / 1000

  const decisions = await listAll(server.url, '/v1/decisions', server.key)
  expect(decisions.length).toBe(race.asked)
  const [policy] = (await server.call('GET', '/v1/policies')).body.data
  const path = `/v1/policies/${policy.id}/budget`
  const rows = [
    ...(await server.call('GET', path)).body.data,
    ...(await listAll(server.url, `${path}/history`, server.key)),
  ]
  const found = rows.map(({ starts_at, spent, reserved }) => [
    starts_at,
    { spent: micro(spent), reserved: micro(reserved) },
  ])
  const added = addUp(decisions)
  // The present account is listed also while nobody has used it.
  for (const [startsAt] of found) if (!added.has(startsAt)) added.set(startsAt, { spent: 0n, reserved: 0n })
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(added))
  const count = (status: string) => decisions.filter((decision) => decision.status === status).length
  console.log(
    `${race.asked} requests in ${seconds.toFixed(1)} s, ${race.allowed} allowed: ${count('confirmed')} confirmed, ` +
      `${count('rejected')} rejected, ${count('expired')} expired, ${count('authorized')} open; ` +
      `${race.polls} polls of ${rows.length} accounts`,
  )
  for (const status of ['confirmed', 'rejected', 'expired', 'denied']) expect(count(status), status).toBeGreaterThan(0)
})

/**
 * Everybody changes the same few decisions at once while time passes: each one goes one legal way, which the audit log
 * tells, and the budget holds what all of them add up to.
 */
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { Desk, MINUTE_MS } from './desk.js'
import { micro } from './ledger-model/reference-money.js'
import { everyItem } from './refunds.js'

const CALLERS = 24
/** Decisions that are open at a time: the fewer, the more often two callers meet. */
const POOL = 6

/** Where each entry may lead from where; a correction leads to what it says. */
const WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  authorized: { confirmed: 'confirmed', rejected: 'rejected', expired: 'expired late', redeemed: 'authorized' },
  awaiting_review: { approved: 'approved', declined: 'declined', rejected: 'withdrawn', expired: 'expired' },
  approved: { claimed: 'authorized', declined: 'declined', rejected: 'withdrawn', expired: 'expired' },
  'expired late': { confirmed: 'confirmed', rejected: 'rejected' },
  confirmed: { corrected: '' },
  rejected: { corrected: '' },
}
const STATUS: Readonly<Record<string, string>> = { 'expired late': 'expired', withdrawn: 'rejected' }

interface Entry {
  readonly type: string
  readonly data: { readonly outcome?: { readonly result: string } }
}

/** Where the entries of a decision lead; the place where they leave the way when they do. */
function follow(first: string, entries: readonly Entry[]): string {
  let at = first
  for (const { type, data } of entries) {
    const transition = type.replace('decision.', '')
    const to = WAYS[at]?.[transition]
    if (to === undefined) return `${transition} after ${at}`
    at = to === '' ? (data.outcome?.result as string) : to
  }
  return STATUS[at] ?? at
}

class Storm {
  private transitions = 0
  private readonly pool: { readonly id: string; readonly permit_token?: string }[] = []

  constructor(
    private readonly desk: Desk,
    private readonly random: () => number,
  ) {}

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T
  }

  async run(): Promise<void> {
    while (this.transitions++ < stress.storm_transitions) {
      if (this.transitions % 100 === 0)
        this.desk.clock.advance(this.pick([1000, MINUTE_MS, 5 * MINUTE_MS, 61 * MINUTE_MS]))
      if (this.pool.length < POOL || this.random() < 0.15) await this.ask()
      else await this.transition()
    }
  }

  private async ask(): Promise<void> {
    const { body } = await this.desk.ask(this.pick([1, 40.25, 200, 300.5]))
    if (body.effect === 'deny') return
    this.pool.push(body)
    if (this.pool.length > POOL) this.pool.shift()
  }

  private async transition(): Promise<void> {
    const { id, permit_token } = this.pick(this.pool)
    const { desk } = this
    const { status, body } = await this.pick([
      () => desk.transition('confirm', id, this.pick([{}, { amount: 7 }, { amount: 350.125 }])),
      () => desk.transition('reject', id),
      () => desk.transition('approve', id, this.pick([{}, { exceed_budget: true }])),
      () => desk.transition('approve', id),
      () => desk.transition('claim', id, { holder: this.pick(['one', 'two']) }),
      () => desk.transition('claim', id, { holder: 'one' }),
      () => desk.transition('decline', id),
      () => desk.transition('correct', id, this.pick([{ result: 'rejected' }, { result: 'confirmed', amount: 3 }])),
      () => desk.redeem(permit_token ?? 'none'),
      () => desk.server.call('GET', '/v1/budgets'),
    ])()
    expect([200, 400, 403, 409], JSON.stringify(body)).toContain(status)
  }
}

it(`${stress.storm_transitions} transitions of ${CALLERS} callers leave every decision on a legal way`, async () => {
  console.log(`SEED=${SEED}`)
  const desk = await Desk.open({ budget: { limit: 5000, period: 'total', on_exceed: 'review' } })
  const storm = new Storm(desk, seededRandom(SEED))
  await Promise.all(Array.from({ length: CALLERS }, () => storm.run()))

  desk.clock.advance(25 * 60 * MINUTE_MS)
  const [account] = await desk.budgets()
  const decisions = await everyItem(desk.server, '/v1/decisions')
  const entries = (await everyItem(desk.server, '/v1/audit')).sort((one, other) => one.index - other.index)
  expect(entries.map(({ index }) => index)).toEqual([...entries.keys()])
  let spent = 0n
  for (const { id, effect, status, review, outcome, budgets } of decisions) {
    const [, ...told] = entries.filter(({ subject }) => subject === id)
    const first = effect === 'allow' ? 'authorized' : effect === 'review' ? 'awaiting_review' : 'denied'
    expect(follow(first, told), `${id}: ${told.map(({ type }) => type)}`).toBe(status)
    const [row] = budgets
    if (status === 'confirmed') spent += micro(outcome.amount)
    if (status === 'expired' && row?.reserved && review?.status !== 'expired') spent += micro(row.amount)
  }
  expect(account).toMatchObject({ reserved: 0 })
  expect(micro(account.spent)).toBe(spent)
  const ends = new Set(decisions.map(({ status }) => status))
  for (const status of ['confirmed', 'rejected', 'expired', 'declined']) expect([...ends]).toContain(status)
  await desk.stop()
})

/** Budgets that reach a threshold or refuse a decision: each is told of once, in the audit log, whatever happens between. */
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { Desk, MINUTE_MS } from './desk.js'
import { everyItem } from './refunds.js'

let desk: Desk
afterEach(() => desk.stop())

const BUDGET = { limit: 200, unit: 'EUR', period: 'monthly' }

// biome-ignore lint/suspicious/noExplicitAny: entries are whatever JSON came; tests assert what they read of it
async function alarms(type: string): Promise<any[]> {
  return (await everyItem(desk.server, `/v1/audit?type=${type}`)).toReversed()
}

const atLeast = (type: string, count: number) =>
  until(`${count} entries ${type}`, async () => {
    const found = await alarms(type)
    return found.length >= count ? found : undefined
  })

it('tells of 50, 80 and 100 percent once each, over a restart', async () => {
  desk = await Desk.open({ budget: BUDGET })
  const decision = await desk.decide(90)
  await desk.decide(20)
  const [half] = await atLeast('budget.threshold', 1)
  expect(half).toMatchObject({ subject: desk.policy.id, actor: null, agent_id: null })
  expect(half.data).toMatchObject({
    policy_id: desk.policy.id,
    agent_id: null,
    unit: 'EUR',
    limit: 200,
    period: 'monthly',
    starts_at: '2026-11-01T00:00:00.000Z',
    resets_at: '2026-12-01T00:00:00.000Z',
    reserved: 110,
    spent: 0,
    remaining: 90,
    threshold: 50,
  })
  await desk.transition('reject', decision.id)
  await desk.decide(90)
  desk.server = await desk.server.restart()
  await desk.decide(90)
  const all = await atLeast('budget.threshold', 3)
  // The clock stands still: nothing else tells their order.
  expect(all.map(({ data }) => data.threshold).sort((one, other) => one - other)).toEqual([50, 80, 100])
})

it('tells of a refusal at most once a minute', async () => {
  desk = await Desk.open({ budget: BUDGET })
  await desk.decide(100)
  await desk.decide(90)
  const refused = await desk.decide(100)
  expect(refused.reason_code).toBe('budget_exceeded')
  await desk.decide(50)
  const [first] = await atLeast('budget.exceeded', 1)
  expect(first.data).toMatchObject({ limit: 200, reserved: 190, remaining: 10, amount: 100, decision_id: refused.id })
  // It is told of after the refusals before it: so these are all read by then.
  await desk.decide(10)
  await atLeast('budget.threshold', 3)
  desk.clock.advance(MINUTE_MS)
  await desk.decide(40)
  const told = await atLeast('budget.exceeded', 2)
  expect(told.map(({ data }) => data.amount)).toEqual([100, 40])
})

it('tells of what a confirmation spends above its reservation', async () => {
  desk = await Desk.open({ budget: BUDGET })
  const decision = await desk.decide(90)
  await desk.transition('confirm', decision.id, { amount: 170 })
  const told = await atLeast('budget.threshold', 2)
  expect(told.map(({ data }) => [data.threshold, data.spent])).toEqual([
    [50, 170],
    [80, 170],
  ])
})

it('tells of what a correction spends more than before', async () => {
  desk = await Desk.open({ budget: BUDGET })
  const decision = await desk.decide(90)
  await desk.transition('confirm', decision.id, { amount: 10 })
  await desk.decide(80)
  const corrected = await desk.server.call('POST', `/v1/decisions/${decision.id}/correct`, {
    body: { result: 'confirmed', amount: 90 },
  })
  expect(corrected.status).toBe(200)
  const told = await atLeast('budget.threshold', 2)
  expect(told.map(({ data }) => [data.threshold, data.spent, data.reserved])).toEqual([
    [50, 90, 80],
    [80, 90, 80],
  ])
})

/** Policies that carry a budget: written, linted, simulated and explained. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, everyItem, succeed } from './refunds.js'
import { stored } from './stored.js'

const BUDGET = { limit: 100, unit: 'EUR', period: 'monthly' }
const PAYOUTS = { name: 'payouts', rules: [{ action: 'payment.payout', effect: 'allow' }], budget: BUDGET }
const AGENT = 'agent:payer'
const payout = (amount: unknown, more: object = {}) => ({
  agent_id: AGENT,
  action: 'payment.payout',
  context: { amount, ...more },
})

let server: RunningServer
beforeEach(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterEach(() => server.stop())

const put = (id: string, document: object) => succeed(server.call('PUT', `/v1/policies/${id}`, { body: document }))
const simulate = (body: object) => succeed(server.call('POST', '/v1/simulate', { body }))
const codes = ({ warnings }: { warnings: { code: string }[] }) => warnings.map(({ code }) => code)

describe('a policy with a budget', () => {
  it('is answered with its defaults, without a currency that was not set', async () => {
    const made = await createPolicy(server, PAYOUTS)
    const budget = { ...BUDGET, amount: 'context.amount', scope: 'policy', on_exceed: 'deny' }
    expect(made.budget).toEqual(budget)
    expect(await succeed(server.call('GET', `/v1/policies/${made.id}`))).toMatchObject({ budget, warnings: [] })
    const whole = { ...budget, actions: ['payment.*'], amount: 1, currency: 'context.unit', scope: 'agent' }
    expect((await put(made.id, { ...PAYOUTS, budget: whole })).budget).toEqual(whole)
  })

  it('can be sent back as it was answered, and then warns of nothing', async () => {
    const made = await createPolicy(server, PAYOUTS)
    expect(await put(made.id, made)).toMatchObject({ budget: made.budget, revision: 2, warnings: [] })
  })

  it.each<[what: string, changes: object]>([
    ['unit', { unit: 'USD' }],
    ['period', { period: 'daily' }],
    ['scope', { scope: 'agent' }],
  ])('warns when a write opens another account: %s', async (_, changes) => {
    const made = await createPolicy(server, PAYOUTS)
    const changed = { ...PAYOUTS, budget: { ...BUDGET, ...changes } }
    expect(codes(await succeed(server.call('POST', '/v1/policies/validate', { body: changed })))).toEqual([
      'budget_restarted',
    ])
    expect(codes(await put(made.id, changed))).toEqual(['budget_restarted'])
    expect(codes(await put(made.id, changed))).toEqual([])
  })

  it('does not warn of what keeps the account', async () => {
    const made = await createPolicy(server, PAYOUTS)
    const changes = { limit: 1, unit: 'eur', on_exceed: 'review', amount: 2, actions: ['*'], currency: 'context.unit' }
    expect(codes(await put(made.id, { ...PAYOUTS, budget: { ...BUDGET, ...changes } }))).toEqual([])
  })
})

describe('POST /v1/simulate', () => {
  it('says what a decision would say, of every answer that a budget can give', async () => {
    await createPolicy(server, PAYOUTS)
    const review = { ...BUDGET, limit: 10, on_exceed: 'review' }
    await createPolicy(server, { ...PAYOUTS, name: 'second', budget: review })
    const agents = { ...BUDGET, scope: 'agent', actions: ['payment.each'] }
    await createPolicy(server, { name: 'each', rules: [{ action: 'payment.each', effect: 'allow' }], budget: agents })
    const answers: string[] = []
    for (const request of [
      payout(4),
      payout(4),
      payout(4),
      payout(101),
      payout('4'),
      payout(4, { currency: 'USD' }),
      { ...payout(4), action: 'payment.each' },
    ]) {
      const before = await stored(server)
      const simulated = await simulate({ request })
      expect(await stored(server)).toEqual(before)
      const decision = await decide(server, request)
      const { effect, reason, reason_code, policy_id, rule, budgets, shadow } = decision
      const { decision_id, ...explanation } = await succeed(
        server.call('GET', `/v1/decisions/${decision.id}/explanation`),
      )
      expect(simulated).toEqual({ effect, reason, reason_code, policy_id, rule, budgets, shadow, explanation })
      answers.push(`${effect} ${reason_code}`)
    }
    expect(answers).toEqual([
      'allow rule_matched',
      'allow rule_matched',
      'review budget_exceeded',
      'deny budget_exceeded',
      'deny budget_amount_invalid',
      'deny budget_unit_mismatch',
      'deny agent_not_registered',
    ])
  })

  it('shows each budget as it would be right after, and takes nothing', async () => {
    const { id } = await createPolicy(server, PAYOUTS)
    const row = { policy_id: id, unit: 'EUR', amount: 60, period: 'monthly', over_limit: false }
    for (let i = 0; i < 3; i++)
      expect(await simulate({ request: payout(60) })).toMatchObject({
        effect: 'allow',
        budgets: [{ ...row, remaining: 40, reserved: true }],
      })
    await decide(server, payout(60))
    expect(await simulate({ request: payout(60) })).toMatchObject({
      effect: 'deny',
      reason_code: 'budget_exceeded',
      policy_id: id,
      rule: 0,
      budgets: [{ ...row, remaining: 40, reserved: false }],
    })
  })

  it('reads the account that the id of a draft names, in the unit and period that the draft says', async () => {
    const { id } = await createPolicy(server, PAYOUTS)
    await decide(server, payout(60))
    const asked = async (draft: object) => (await simulate({ request: payout(50), policies: [draft] })).budgets[0]
    expect(await asked(PAYOUTS)).toMatchObject({ policy_id: 'pol_draft_0', remaining: 50, reserved: true })
    expect(await asked({ ...PAYOUTS, id })).toMatchObject({ policy_id: id, remaining: 40, reserved: false })
    expect(await asked({ ...PAYOUTS, id, budget: { ...BUDGET, limit: 200, unit: 'eur' } })).toMatchObject({
      unit: 'eur',
      remaining: 90,
      reserved: true,
    })
    expect(await asked({ ...PAYOUTS, id, budget: { ...BUDGET, period: 'yearly' } })).toMatchObject({ remaining: 50 })
    expect(await asked({ ...PAYOUTS, id, budget: { ...BUDGET, limit: 30 } })).toMatchObject({
      remaining: 0,
      over_limit: true,
      reserved: false,
    })
  })

  it('finds the room again that an approval without a claim gave back', async () => {
    const rules = [{ action: 'payment.payout', effect: 'review' }]
    const { id } = await createPolicy(server, { ...PAYOUTS, rules })
    const decision = await decide(server, payout(60))
    await succeed(server.call('POST', `/v1/decisions/${decision.id}/approve`, { body: {} }))
    const draft = { ...PAYOUTS, id }
    const remaining = async () => (await simulate({ request: payout(50), policies: [draft] })).budgets[0].remaining
    expect(await remaining()).toBe(40)
    server.clock.advance(3_600_000 - 1)
    expect(await remaining()).toBe(40)
    server.clock.advance(1)
    await succeed(server.call('GET', '/v1/budgets'))
    expect(await remaining()).toBe(50)
  })

  it('asks no budget of a log, a deny, a shadow policy, or of an action that it does not count', async () => {
    for (const effect of ['log', 'deny', 'review'])
      expect(
        await simulate({ request: payout(1), policies: [{ ...PAYOUTS, rules: [{ action: '*', effect }] }] }),
      ).toMatchObject({ effect, budgets: [] })
    const shadow = { ...PAYOUTS, name: 'shadow', mode: 'shadow', budget: { ...BUDGET, limit: 0 } }
    const other = { ...PAYOUTS, budget: { ...BUDGET, limit: 0, actions: ['payment.other'] } }
    expect(await simulate({ request: payout(1), policies: [shadow, other] })).toMatchObject({
      effect: 'allow',
      budgets: [],
      shadow: [{ policy_id: 'pol_draft_0', effect: 'allow' }],
    })
  })

  it('asks all or none, and lists each that it asked', async () => {
    const named = (id: string, changes: object) => ({
      ...PAYOUTS,
      id,
      name: id,
      budget: { ...BUDGET, ...changes },
    })
    const policies = [
      named('pol_c', { limit: 5 }),
      named('pol_a', {}),
      named('pol_b', { limit: 0, on_exceed: 'review' }),
    ]
    expect(await simulate({ request: payout(10), policies })).toMatchObject({
      effect: 'deny',
      policy_id: 'pol_c',
      budgets: [
        { policy_id: 'pol_a', reserved: false, remaining: 100 },
        { policy_id: 'pol_b', reserved: false, remaining: 0 },
        { policy_id: 'pol_c', reserved: false, remaining: 5 },
      ],
    })
    expect(await simulate({ request: payout(5), policies })).toMatchObject({ effect: 'review', policy_id: 'pol_b' })
  })
})

describe('the explanation of a decision that a budget refused', () => {
  it('says what the budget did, beside what the rules said', async () => {
    const { id } = await createPolicy(server, { ...PAYOUTS, budget: { ...BUDGET, limit: 10 } })
    const refused = await decide(server, payout(10.5))
    expect(await succeed(server.call('GET', `/v1/decisions/${refused.id}/explanation`))).toMatchObject({
      effect: 'deny',
      summary: `Denied: ${refused.reason}`,
      nearest_miss: null,
      policies: [{ policy_id: id, result: 'allow', decided: true, rules: [{ result: 'matched' }] }],
    })
    await put(id, { ...PAYOUTS, budget: { ...BUDGET, limit: 10, on_exceed: 'review' } })
    const reviewed = await decide(server, payout(10.5))
    expect(await succeed(server.call('GET', `/v1/decisions/${reviewed.id}/explanation`))).toMatchObject({
      effect: 'review',
      summary: `Sent to review: ${reviewed.reason}`,
      nearest_miss: null,
    })
  })
})

it('what no policy could spend stands in the audit log with the decision', async () => {
  await createPolicy(server, PAYOUTS)
  const { budgets } = await decide(server, payout(60))
  const [entry] = await everyItem(server, '/v1/audit?type=decision.created')
  expect(entry.data.budgets).toEqual(budgets)
})

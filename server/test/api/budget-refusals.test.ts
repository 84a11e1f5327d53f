/** What a caller is told when a budget refuses, and what the permit says when it does not. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, everyItem, succeed } from './refunds.js'

let server: RunningServer
let used = 0
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const { id } of await everyItem(server, '/v1/policies'))
    expect((await server.call('DELETE', `/v1/policies/${id}`)).status).toBe(204)
})

const allow = [{ action: 'pay.*', effect: 'allow' }]
const withBudget = (budget: object, more: object = {}) =>
  createPolicy(server, {
    name: `paying ${used++}`,
    rules: allow,
    budget: { limit: 100, unit: 'EUR', period: 'monthly', ...budget },
    ...more,
  })
const pay = (context: object, agent_id = 'agent:payer') => decide(server, { agent_id, action: 'pay.create', context })
const claimsOf = ({ permit_token }: { permit_token: string }) =>
  JSON.parse(Buffer.from(permit_token.split('.')[1] as string, 'base64url').toString())

describe('no room', () => {
  it('is a deny that says what is left and from when on there is more, in words that need no knowledge of policies', async () => {
    const policy = await withBudget({})
    await pay({ amount: 87.5 })
    const { advice, reason, ...decision } = await pay({ amount: 42.5 })
    expect(decision).toMatchObject({
      effect: 'deny',
      status: 'denied',
      reason_code: 'budget_exceeded',
      policy_id: policy.id,
      policy_revision: 1,
      rule: 0,
      review: null,
      outcome: null,
      budgets: [{ amount: 42.5, remaining: 12.5, over_limit: false, reserved: false, unit: 'EUR' }],
    })
    expect(decision).not.toHaveProperty('permit_token')
    expect(reason).toMatch(/12\.5/)
    expect(advice).toEqual({
      retry: 'after',
      after: '2026-12-01T00:00:00.000Z',
      max_amount: 12.5,
      message: expect.stringMatching(/12\.5 EUR/),
    })
    expect(advice.message).not.toContain(policy.id)
    expect((await pay({ amount: advice.max_amount })).effect).toBe('allow')
  })

  it('is for ever when the amount alone exceeds the limit, and where the period never ends', async () => {
    await withBudget({})
    expect((await pay({ amount: 100.000001 })).advice).toMatchObject({ retry: 'never', max_amount: 100 })
    await withBudget({ period: 'total' }, { priority: 1 })
    await pay({ amount: 60 })
    const { advice } = await pay({ amount: 60 })
    expect(advice).toMatchObject({ max_amount: 40 })
    expect(advice).not.toHaveProperty('after')
  })

  it('is a review where the budget says so', async () => {
    const policy = await withBudget({ on_exceed: 'review' })
    expect(await pay({ amount: 101 })).toMatchObject({
      effect: 'review',
      status: 'awaiting_review',
      reason_code: 'budget_exceeded',
      policy_id: policy.id,
      rule: 0,
      budgets: [{ amount: 101, remaining: 100, reserved: false }],
      advice: { retry: 'after_approval' },
    })
  })
})

describe('an amount that does not fit', () => {
  it.each([
    { context: {}, code: 'budget_amount_invalid', named: 'context.amount' },
    { context: { amount: '10' }, code: 'budget_amount_invalid', named: 'context.amount' },
    { context: { amount: -0.5 }, code: 'budget_amount_invalid', named: 'context.amount' },
    { context: { amount: 1e12 + 1 }, code: 'budget_amount_invalid', named: 'context.amount' },
    { context: { amount: 1, currency: 'USD' }, code: 'budget_unit_mismatch', named: 'context.currency' },
    { context: { amount: 1, currency: 7 }, code: 'budget_unit_mismatch', named: 'context.currency' },
  ])('is a deny with $code, and the advice names what to mend: $context', async ({ context, code, named }) => {
    await withBudget({ on_exceed: 'review' })
    const decision = await pay(context)
    expect(decision).toMatchObject({ effect: 'deny', reason_code: code, rule: 0, advice: { retry: 'changed' } })
    expect(decision.advice.message).toContain(named)
    const isValid = code === 'budget_unit_mismatch'
    expect(decision.budgets).toMatchObject([{ amount: isValid ? 1 : null, remaining: 100, reserved: false }])
  })

  it('is one whose currency is missing where the policy asks for it', async () => {
    await withBudget({ currency: 'context.ccy' })
    expect((await pay({ amount: 1, currency: 'EUR' })).reason_code).toBe('budget_unit_mismatch')
    expect((await pay({ amount: 1, ccy: 'eur', currency: 'USD' })).effect).toBe('allow')
  })

  it('is one of an agent that nobody registered, where each agent has an account of its own', async () => {
    await withBudget({ scope: 'agent' })
    expect(await pay({ amount: 1 }, 'agent:invented')).toMatchObject({
      effect: 'deny',
      reason_code: 'agent_not_registered',
      advice: { retry: 'never' },
    })
    for (const id of ['agent:one', 'agent:two']) {
      await succeed(server.call('POST', '/v1/agents', { body: { id } }))
      expect((await pay({ amount: 100 }, id)).effect).toBe('allow')
      expect((await pay({ amount: 1 }, id)).reason_code).toBe('budget_exceeded')
    }
    const rows = await everyItem(server, '/v1/budgets')
    const own = rows.filter(({ deleted_at }) => deleted_at === undefined)
    expect(own.map(({ agent_id }) => agent_id).sort()).toEqual(['agent:one', 'agent:two'])
  })
})

describe('several budgets', () => {
  it('are reserved all or none: the first that denies decides, before those that ask for a review', async () => {
    const roomy = await withBudget({ limit: 1000 })
    const asking = await withBudget({ limit: 50, on_exceed: 'review' })
    const counting = await withBudget({ limit: 2, unit: 'calls', amount: 1, period: 'total' })
    const reserved = async () =>
      Object.fromEntries((await everyItem(server, '/v1/budgets')).map((row) => [row.policy_id, row.reserved]))
    expect((await pay({ amount: 30 })).budgets.map((row: { policy_id: string }) => row.policy_id)).toEqual([
      roomy.id,
      asking.id,
      counting.id,
    ])
    const before = await reserved()
    expect(before).toMatchObject({ [roomy.id]: 30, [asking.id]: 30, [counting.id]: 1 })
    expect(await pay({ amount: 30 })).toMatchObject({ effect: 'review', policy_id: asking.id })
    expect(await reserved()).toEqual(before)
    await pay({ amount: 1 })
    const full = await reserved()
    expect(await pay({ amount: 30 })).toMatchObject({ effect: 'deny', policy_id: counting.id })
    expect(await pay({})).toMatchObject({ effect: 'deny', reason_code: 'budget_amount_invalid', policy_id: roomy.id })
    expect(await reserved()).toEqual(full)
  })
})

describe('the permit', () => {
  it('names amount and unit of the first budget that reads its amount, and none where no budget does', async () => {
    await withBudget({ unit: 'calls', amount: 1 })
    expect(claimsOf(await pay({ amount: 7 }))).not.toHaveProperty('amount')
    await withBudget({ unit: 'Eur' })
    await withBudget({ amount: 'context.fee' })
    expect(claimsOf(await pay({ amount: 0.1 + 0.2, fee: 2 }))).toMatchObject({ amount: 0.3, unit: 'Eur' })
  })

  it('of a log names none, for nothing is reserved', async () => {
    await withBudget({}, { rules: [{ action: 'pay.*', effect: 'log' }] })
    const decision = await pay({ amount: 1e9 })
    expect(decision).toMatchObject({ effect: 'log', budgets: [] })
    expect(claimsOf(decision)).not.toHaveProperty('amount')
  })
})

it('the audit entry of a decision tells what it took', async () => {
  await withBudget({})
  const decision = await pay({ amount: 12 })
  const [entry] = await everyItem(server, `/v1/audit?decision_id=${decision.id}`)
  expect(entry.data.budgets).toEqual(decision.budgets)
})

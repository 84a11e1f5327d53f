import { type Budget, type BudgetPeriod, type Json, type JsonObject, toMicro } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { adviseOn } from '../advise.js'
import type { EnginePolicy } from '../compiled-policy.js'
import { evaluate } from '../evaluate.js'
import { compilePolicies } from '../policy-set.js'
import type { EngineRequest, Facts } from '../request.js'
import { applyBudgetViolation } from './apply-violation.js'
import { askBudgets } from './ask.js'
import { findBudgetViolation } from './violation.js'

const NOW = new Date('2026-11-21T10:00:05.120Z')
const DECISION = 'dec_01kagx5000000000000000000'
const GIVE_UP = 'Do not try again; tell the person you work for.'
const WAIT = `A person has to approve this. Wait for decision ${DECISION}; do not ask again.`

interface Asking {
  readonly budget?: Partial<Budget>
  readonly used?: number
  readonly context?: JsonObject
  readonly metadata?: Facts['metadata']
}

/** A decision of one policy whose budget is violated. */
function violate({ budget, used = 4987.5, context = { amount: 42.5 }, metadata = {} }: Asking) {
  const policy: EnginePolicy = {
    id: 'pol_1',
    revision: 4,
    name: 'secret policy',
    rules: [
      { action: 'email.*', effect: 'deny' },
      { action: '*', effect: 'allow' },
    ],
    budget: { limit: 5000, unit: 'EUR', period: 'monthly', ...budget },
  }
  const watching: EnginePolicy = { ...policy, id: 'pol_0', mode: 'shadow' }
  const request: EngineRequest = { agent_id: 'agent:support-7', action: 'payment.refund', resource: null, context }
  const facts: Facts = { now: NOW, suspended: false, metadata }
  const allowed = evaluate(compilePolicies([policy, watching]), request, facts)
  const asked = askBudgets(allowed, request, facts, 'decision')
  const violation = findBudgetViolation(asked, [{ spent: toMicro(used), reserved: 0n }])
  if (violation === null) throw new Error('there is room')
  const evaluation = applyBudgetViolation(allowed, violation)
  return { request, evaluation, reason: evaluation.reason, advice: adviseOn(evaluation, request, DECISION) }
}

describe('an evaluation after a budget violation', () => {
  it('is decided by the policy of the budget and its winning rule', () => {
    const { evaluation } = violate({})
    expect(evaluation).toMatchObject({
      effect: 'deny',
      reason: 'The budget of 5000 EUR a month has 12.5 EUR left; 42.5 EUR were asked.',
      reason_code: 'budget_exceeded',
      policy_id: 'pol_1',
      policy_revision: 4,
      rule: 1,
      shadow: [{ policy_id: 'pol_0', effect: 'allow', rule: 1 }],
      budgeted: [],
    })
  })

  it('is a review when the budget says so', () => {
    const { evaluation, reason } = violate({ budget: { on_exceed: 'review' } })
    expect(evaluation).toMatchObject({ effect: 'review', reason_code: 'budget_exceeded', rule: 1 })
    expect(reason).toBe('The budget of 5000 EUR a month has 12.5 EUR left; 42.5 EUR were asked.')
  })
})

describe('the reason', () => {
  it.each<[BudgetPeriod, string]>([
    ['hourly', 'an hour'],
    ['daily', 'a day'],
    ['weekly', 'a week'],
    ['yearly', 'a year'],
    ['total', 'in all'],
  ])('of a budget that is %s', (period, each) => {
    expect(violate({ budget: { period } }).reason).toBe(
      `The budget of 5000 EUR ${each} has 12.5 EUR left; 42.5 EUR were asked.`,
    )
  })

  it('of a budget for each agent, of which nothing is left', () => {
    expect(violate({ budget: { scope: 'agent' }, used: 6000 }).reason).toBe(
      'The budget of 5000 EUR a month for this agent has 0 EUR left; 42.5 EUR were asked.',
    )
  })

  it('of a budget that counts', () => {
    expect(violate({ budget: { limit: 10, unit: 'calls', amount: 1 }, used: 10 }).reason).toBe(
      'The budget of 10 calls a month has 0 calls left; each decision takes 1.',
    )
  })

  it.each<[JsonObject, string]>([
    [{}, 'none'],
    [{ amount: null }, 'null'],
    [{ amount: '5' }, 'a string'],
    [{ amount: [5] }, 'an array'],
    [{ amount: -5 }, 'another number'],
  ])('of an amount that is not valid: %j', (context, found) => {
    expect(violate({ context }).reason).toBe(
      `The budget needs context.amount as a number from 0 to 1000000000000, and the request has ${found}.`,
    )
  })

  it.each<[Json, string]>([
    ['USD', 'another text'],
    [5, 'a number'],
    [null, 'null'],
  ])('of a unit that does not fit: %j', (currency, found) => {
    expect(violate({ budget: { currency: 'context.currency' }, context: { amount: 5, currency } }).reason).toBe(
      `The budget needs context.currency as "EUR", and the request has ${found}.`,
    )
  })

  it('of an agent that is not registered', () => {
    expect(violate({ budget: { scope: 'agent' }, metadata: null }).reason).toBe(
      'The budget is kept for each agent, and this agent is not registered.',
    )
  })
})

describe('the advice', () => {
  it('names what is left and when the budget begins again', () => {
    expect(violate({}).advice).toEqual({
      retry: 'after',
      after: '2026-12-01T00:00:00.000Z',
      max_amount: 12.5,
      message: 'The monthly budget is used up. At most 12.5 EUR now, or ask again after 2026-12-01.',
    })
  })

  it('names the time of an hour', () => {
    expect(violate({ budget: { period: 'hourly' }, used: 5000 }).advice).toEqual({
      retry: 'after',
      after: '2026-11-21T11:00:00.000Z',
      max_amount: 0,
      message: 'The hourly budget is used up. Ask again after 2026-11-21 11:00 UTC.',
    })
  })

  it('speaks of no smaller amount where each decision takes the same', () => {
    expect(violate({ budget: { limit: 10, unit: 'calls', amount: 3, period: 'daily' }, used: 9 }).advice).toEqual({
      retry: 'after',
      after: '2026-11-22T00:00:00.000Z',
      message: 'The daily budget is used up. Ask again after 2026-11-22.',
    })
  })

  it.each<[number, number, object]>([
    [4987.5, 12.5, { message: 'This takes more than the whole monthly budget. At most 12.5 EUR now.' }],
    [5000, 0, { message: `This takes more than the whole monthly budget. ${GIVE_UP}` }],
  ])('never waits for an amount above the limit; %d used', (used, max_amount, message) => {
    expect(violate({ used, context: { amount: 5000.000001 } }).advice).toEqual({
      retry: 'never',
      max_amount,
      ...message,
    })
    expect(violate({ used: used + 1e-6, context: { amount: 5000 } }).advice?.retry).toBe('after')
  })

  it.each<[number, number, object]>([
    [4987.5, 12.5, { message: 'The budget is used up and is never renewed. At most 12.5 EUR now.' }],
    [5000, 0, { message: `The budget is used up and is never renewed. ${GIVE_UP}` }],
  ])('never waits for a budget that never ends; %d used', (used, max_amount, message) => {
    expect(violate({ used, budget: { period: 'total' } }).advice).toEqual({ retry: 'never', max_amount, ...message })
  })

  it('gives up on a fixed amount above the limit', () => {
    expect(violate({ used: 0, budget: { limit: 1, amount: 2, period: 'total' } }).advice).toEqual({
      retry: 'never',
      message: `This takes more than the whole budget. ${GIVE_UP}`,
    })
  })

  it('waits for a person where the budget asks for review, and still says what would pass without', () => {
    const budget = { on_exceed: 'review' } as const
    expect(violate({ budget }).advice).toEqual({
      retry: 'after_approval',
      after: '2026-12-01T00:00:00.000Z',
      max_amount: 12.5,
      message: `The monthly budget is used up. At most 12.5 EUR now without a person. ${WAIT}`,
    })
    expect(violate({ budget, context: { amount: 6000 } }).advice).toEqual({
      retry: 'after_approval',
      max_amount: 12.5,
      message: `This takes more than the whole monthly budget. At most 12.5 EUR now without a person. ${WAIT}`,
    })
  })

  it('names the fact to mend', () => {
    expect(violate({ budget: { amount: 'context.order.total' } }).advice).toEqual({
      retry: 'changed',
      message: 'Give context.order.total as a number from 0 to 1000000000000 and ask again.',
    })
    expect(violate({ context: { amount: 5, currency: 'USD' } }).advice).toEqual({
      retry: 'changed',
      message: 'Give context.currency as "EUR", with the amount in EUR, and ask again.',
    })
  })

  it('sends an agent that is not registered to its operator', () => {
    expect(violate({ budget: { scope: 'agent' }, metadata: null }).advice).toEqual({
      retry: 'never',
      message: `An operator has to register this agent. ${GIVE_UP}`,
    })
  })

  it('is on the evaluation as it stands when the caller has changed it', () => {
    const { evaluation, request } = violate({ budget: { on_exceed: 'review' } })
    const denied = { ...evaluation, effect: 'deny' as const, reason_code: 'too_many_reviews' as const }
    expect(adviseOn(denied, request, DECISION)).toEqual({
      retry: 'never',
      message: `Too many requests are already waiting for a person. ${GIVE_UP}`,
    })
  })

  it('keeps the policy and its limit to itself', () => {
    for (const asking of [{}, { context: {} }, { budget: { on_exceed: 'review' as const } }, { used: 9000 }]) {
      const text = JSON.stringify(violate(asking).advice).replaceAll(DECISION, '')
      for (const secret of ['5000', 'secret policy', 'pol_1']) expect(text).not.toContain(secret)
    }
  })

  it('shortens a path that is very long', () => {
    const amount = `context.${Array.from({ length: 200 }, () => 'field').join('.')}`
    const { reason, advice } = violate({ budget: { amount } })
    for (const text of [reason, advice?.message]) expect(text?.length).toBeLessThan(1200)
  })
})

import type { Budget, Effect, Json, JsonObject, Rule } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { EnginePolicy } from '../compiled-policy.js'
import { evaluate } from '../evaluate.js'
import { compilePolicies } from '../policy-set.js'
import type { EngineRequest, Facts } from '../request.js'
import { askBudgets } from './ask.js'

const FACTS: Facts = { now: new Date('2026-11-21T10:00:00.000Z'), suspended: false, metadata: { team: 'support' } }
const REQUEST: EngineRequest = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: null,
  context: { amount: 42.5, currency: 'EUR' },
}
const BUDGET: Budget = { limit: 5000, unit: 'EUR', period: 'monthly' }

function policy(id: string, effect: Effect, changes: Partial<EnginePolicy> = {}): EnginePolicy {
  return { id, revision: 3, name: id, rules: [{ action: '*', effect }], budget: BUDGET, ...changes }
}

function withoutBudget({ budget, ...rest }: EnginePolicy): EnginePolicy {
  return rest
}

function ask(
  policies: EnginePolicy[],
  phase: 'decision' | 'approval' = 'decision',
  request: Partial<EngineRequest> = {},
  facts: Partial<Facts> = {},
) {
  const asked = { ...REQUEST, ...request }
  const world = { ...FACTS, ...facts }
  return askBudgets(evaluate(compilePolicies(policies), asked, world), asked, world, phase)
}

const idsOf = (policies: EnginePolicy[], phase: 'decision' | 'approval' = 'decision') =>
  ask(policies, phase).map(({ policy_id }) => policy_id)

/** What one budget that is asked for by itself says. */
function askOne(budget: Partial<Budget>, context: JsonObject | null, facts: Partial<Facts> = {}) {
  const [asked] = ask([policy('pol_1', 'allow', { budget: { ...BUDGET, ...budget } })], 'decision', { context }, facts)
  return asked
}

describe('which budgets are asked', () => {
  it('describes the budget, its account and the present period', () => {
    const rules: Rule[] = [
      { action: 'email.*', effect: 'deny' },
      { action: '*', effect: 'allow' },
    ]
    expect(ask([policy('pol_1', 'allow', { rules, budget: { ...BUDGET, unit: 'Eur' } })])).toEqual([
      {
        policy_id: 'pol_1',
        policy_revision: 3,
        rule: 1,
        unit: 'Eur',
        period: 'monthly',
        starts_at: '2026-11-01T00:00:00.000Z',
        resets_at: '2026-12-01T00:00:00.000Z',
        account: {
          policy_id: 'pol_1',
          unit: 'eur',
          period: 'monthly',
          agent_id: null,
          starts_at: '2026-11-01T00:00:00.000Z',
        },
        limit: 5_000_000_000n,
        on_exceed: 'deny',
        amount: 42_500_000n,
        reads_amount: true,
        fault: null,
        need: null,
      },
    ])
  })

  it('for an allow: those of every policy at the deciding priority that allows, by policy id', () => {
    const policies = [
      policy('pol_c', 'allow'),
      policy('pol_B', 'allow'),
      policy('pol_a', 'log'),
      withoutBudget(policy('pol_d', 'allow')),
      policy('pol_e', 'allow', { priority: -1 }),
      policy('pol_f', 'allow', { mode: 'shadow' }),
      policy('pol_g', 'allow', { enabled: false }),
      policy('pol_h', 'allow', { agents: ['agent:billing'] }),
      policy('pol_i', 'allow', { rules: [{ action: 'email.*', effect: 'allow' }] }),
      policy('pol_j', 'allow'),
    ]
    expect(idsOf(policies)).toEqual(['pol_B', 'pol_c', 'pol_j'])
    expect(idsOf(policies.toReversed())).toEqual(['pol_B', 'pol_c', 'pol_j'])
  })

  it('for a review: none now, and those of policies that allow or review at approval', () => {
    const policies = [policy('pol_a', 'allow'), policy('pol_b', 'review'), policy('pol_c', 'log')]
    expect(idsOf(policies)).toEqual([])
    expect(idsOf(policies, 'approval')).toEqual(['pol_a', 'pol_b'])
    expect(idsOf([policy('pol_a', 'allow')], 'approval')).toEqual(['pol_a'])
  })

  it('for a review: those now that would refuse every approval', () => {
    const of = (limit: number, changes: Partial<Budget> = {}): Partial<EnginePolicy> => ({
      budget: { ...BUDGET, limit, ...changes },
    })
    const policies = [
      policy('pol_a', 'allow', of(42.4)),
      policy('pol_b', 'review', of(42.4)),
      policy('pol_c', 'review', of(42.5)),
      policy('pol_d', 'review', of(42.4, { on_exceed: 'review' })),
      policy('pol_e', 'review', of(42.4, { actions: ['email.*'] })),
      policy('pol_f', 'review', of(42.4, { currency: 'context.amount' })),
      policy('pol_g', 'log', of(42.4)),
      policy('pol_h', 'review', of(0, { amount: 1 })),
    ]
    expect(idsOf(policies)).toEqual(['pol_a', 'pol_b', 'pol_h'])
    expect(ask(policies).map(({ fault }) => fault)).toEqual(Array(3).fill('budget_exceeded'))
    expect(ask(policies, 'approval').map(({ fault }) => fault)).not.toContain('budget_exceeded')
  })

  it.each(['deny', 'log'] as const)('none for a %s, at approval neither', (effect) => {
    const policies = [policy('pol_a', effect), ...(effect === 'deny' ? [policy('pol_b', 'allow')] : [])]
    expect(idsOf(policies)).toEqual([])
    expect(idsOf(policies, 'approval')).toEqual([])
  })

  it('none when a fact that cannot be compared denies, for a review with a budget too', () => {
    const rules: Rule[] = [{ action: '*', effect: 'review', conditions: { 'context.missing': { $eq: 1 } } }]
    const policies = [policy('pol_a', 'allow'), policy('pol_b', 'review', { rules })]
    expect(idsOf(policies, 'approval')).toEqual([])
  })

  it('only those that count the action', () => {
    const counting = (...actions: string[]) => policy('pol_a', 'allow', { budget: { ...BUDGET, actions } })
    expect(idsOf([counting('email.*', 'payment.*')])).toEqual(['pol_a'])
    expect(idsOf([counting('email.*', 'payment.create')])).toEqual([])
  })
})

describe('the amount', () => {
  const MOST = 'a number from 0 to 1000000000000'
  it.each<[Json | undefined, bigint]>([
    [0, 0n],
    [-0, 0n],
    [4e-7, 1n],
    [1.0000015, 1_000_002n],
    [1e12, 10n ** 18n],
  ])('%d counts', (amount, micro) => {
    expect(askOne({}, { amount: amount as Json })).toMatchObject({ amount: micro, fault: null, need: null })
  })

  it.each<[JsonObject | null, string]>([
    [null, 'missing'],
    [{}, 'missing'],
    [{ amount: null }, 'null'],
    [{ amount: '42.5' }, 'string'],
    [{ amount: true }, 'boolean'],
    [{ amount: [42.5] }, 'array'],
    [{ amount: { value: 42.5 } }, 'object'],
    [{ amount: -0.01 }, 'number'],
    [{ amount: 1e12 + 1 }, 'number'],
  ])('of %j is at fault', (context, found) => {
    expect(askOne({}, context)).toMatchObject({
      amount: null,
      reads_amount: true,
      fault: 'budget_amount_invalid',
      need: { path: 'context.amount', needed: MOST, found },
    })
  })

  it('is read where the policy says, from own properties only', () => {
    expect(askOne({ amount: 'context.order.total' }, { order: { total: 7 } })?.amount).toBe(7_000_000n)
    expect(askOne({ amount: 'context.items.length' }, { items: [1, 2] })?.fault).toBe('budget_amount_invalid')
    expect(askOne({ amount: 'context.text.length' }, { text: 'ab' })?.fault).toBe('budget_amount_invalid')
  })

  it('that is fixed is taken whatever the request says, its currency too', () => {
    const fixed = { amount: 1.5, unit: 'calls', currency: 'context.currency' }
    expect(askOne(fixed, { amount: 'many', currency: 'EUR' })).toMatchObject({
      amount: 1_500_000n,
      reads_amount: false,
      fault: null,
    })
  })
})

describe('the unit', () => {
  const faultOf = (budget: Partial<Budget>, currency: Json | undefined) =>
    askOne(budget, { amount: 1, ...(currency !== undefined && { currency }) })?.fault ?? null
  const MISMATCH = 'budget_unit_mismatch'

  it.each<[Json | undefined, string | null]>([
    [undefined, null],
    [null, null],
    ['EUR', null],
    ['eur', null],
    ['eUr', null],
    ['USD', MISMATCH],
    ['EURO', MISMATCH],
    ['EUR ', MISMATCH],
    ['', MISMATCH],
    [978, MISMATCH],
    [['EUR'], MISMATCH],
    [{ code: 'EUR' }, MISMATCH],
    [false, MISMATCH],
  ])('%j against EUR: %s', (currency, fault) => {
    expect(faultOf({}, currency)).toBe(fault)
  })

  it('has to be there when the policy says where', () => {
    const budget = { currency: 'context.currency' }
    expect([undefined, null, 'EUR'].map((currency) => faultOf(budget, currency))).toEqual([MISMATCH, MISMATCH, null])
    expect(askOne({ currency: 'context.order.currency' }, { amount: 1, order: { currency: 'eur' } })?.fault).toBeNull()
  })

  it('has no case among ASCII letters alone', () => {
    expect(faultOf({ unit: 'KWH' }, 'kwh')).toBeNull()
    expect(faultOf({ unit: 'kWh' }, '\u212awh')).toBe(MISMATCH)
    expect(faultOf({ unit: 'POINTS' }, 'po\u0131nts')).toBe(MISMATCH)
  })

  it('is looked at after the amount, which stays known', () => {
    expect(askOne({}, { amount: 'x', currency: 'USD' })).toMatchObject({ fault: 'budget_amount_invalid', amount: null })
    expect(askOne({}, { amount: 1, currency: 'USD' })).toMatchObject({
      amount: 1_000_000n,
      fault: MISMATCH,
      need: { path: 'context.currency', needed: '"EUR"', found: 'string' },
    })
  })
})

describe('the agent', () => {
  const OWN = { scope: 'agent' } as const
  const UNKNOWN = { metadata: null }

  it('has an account of its own with scope agent', () => {
    expect(askOne(OWN, { amount: 1 })).toMatchObject({ account: { agent_id: 'agent:support-7' }, fault: null })
    expect(askOne({}, { amount: 1 }, UNKNOWN)).toMatchObject({ account: { agent_id: null }, fault: null })
  })

  it('has to be registered for that, be its metadata empty', () => {
    expect(askOne(OWN, { amount: 1 }, UNKNOWN)).toMatchObject({
      amount: 1_000_000n,
      fault: 'agent_not_registered',
      need: null,
    })
    expect(askOne({ ...OWN, amount: 1 }, null, UNKNOWN)).toMatchObject({ fault: 'agent_not_registered' })
    expect(askOne(OWN, { amount: 1 }, { metadata: {} })?.fault).toBeNull()
  })

  it('is looked at last', () => {
    expect(askOne(OWN, {}, UNKNOWN)?.fault).toBe('budget_amount_invalid')
    expect(askOne(OWN, { amount: 1, currency: 'USD' }, UNKNOWN)?.fault).toBe('budget_unit_mismatch')
  })
})

it('a budget of the period total has one account for good', () => {
  expect(askOne({ period: 'total' }, { amount: 1 })).toMatchObject({
    starts_at: null,
    resets_at: null,
    account: { period: 'total', starts_at: null },
  })
})

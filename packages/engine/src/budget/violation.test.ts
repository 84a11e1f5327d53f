import { toMicro } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { AskedBudget } from './asked-budget.js'
import { budgetRows } from './rows.js'
import { type Balance, findBudgetViolation } from './violation.js'

function asked(changes: Partial<AskedBudget> = {}): AskedBudget {
  return {
    policy_id: 'pol_1',
    policy_revision: 1,
    rule: 0,
    unit: 'EUR',
    period: 'daily',
    starts_at: '2026-11-21T00:00:00.000Z',
    resets_at: '2026-11-22T00:00:00.000Z',
    account: {
      policy_id: 'pol_1',
      unit: 'eur',
      period: 'daily',
      agent_id: null,
      starts_at: '2026-11-21T00:00:00.000Z',
    },
    limit: toMicro(100),
    on_exceed: 'deny',
    amount: toMicro(40),
    reads_amount: true,
    fault: null,
    need: null,
    ...changes,
  }
}

const balance = (spent: number, reserved: number): Balance => ({ spent: toMicro(spent), reserved: toMicro(reserved) })
const FULL = balance(0, 100)

describe('findBudgetViolation', () => {
  it('has nothing against budgets with room, up to the last unit', () => {
    expect(findBudgetViolation([], [])).toBeNull()
    expect(findBudgetViolation([asked(), asked()], [balance(60, 0), balance(20, 40)])).toBeNull()
    expect(findBudgetViolation([asked({ amount: 0n })], [FULL])).toBeNull()
  })

  it('counts both what is spent and what is reserved', () => {
    for (const taken of [balance(60.000001, 0), balance(0, 60.000001), balance(60, 0.000001)]) {
      expect(findBudgetViolation([asked()], [taken])).toEqual({
        effect: 'deny',
        reason_code: 'budget_exceeded',
        budget: asked(),
        balance: taken,
      })
    }
  })

  it('finds one even for amount 0 when more is used than a limit that was lowered', () => {
    expect(findBudgetViolation([asked({ amount: 0n })], [balance(101, 0)])?.reason_code).toBe('budget_exceeded')
  })

  it('asks for review when the budget says so', () => {
    expect(findBudgetViolation([asked({ on_exceed: 'review' })], [FULL])).toMatchObject({ effect: 'review' })
  })

  it.each(['budget_amount_invalid', 'budget_unit_mismatch', 'agent_not_registered'] as const)(
    'denies for %s, whatever room there is and whatever the budget says',
    (fault) => {
      const budget = asked({ fault, on_exceed: 'review', ...(fault === 'budget_amount_invalid' && { amount: null }) })
      for (const taken of [balance(0, 0), FULL]) {
        expect(findBudgetViolation([budget], [taken])).toMatchObject({ effect: 'deny', reason_code: fault })
      }
    },
  )

  it('lets the first deny decide, else the first review', () => {
    const decider = (...budgets: [string, AskedBudget['on_exceed'], Balance][]) => {
      const list = budgets.map(([policy_id, on_exceed]) => asked({ policy_id, on_exceed }))
      return findBudgetViolation(
        list,
        budgets.map(([, , taken]) => taken),
      )?.budget.policy_id
    }
    const free = balance(0, 0)
    expect(decider(['a', 'review', FULL], ['b', 'review', FULL])).toBe('a')
    expect(decider(['a', 'review', FULL], ['b', 'deny', FULL], ['c', 'deny', FULL])).toBe('b')
    expect(decider(['a', 'deny', free], ['b', 'review', FULL], ['c', 'review', free])).toBe('b')
  })
})

describe('budgetRows', () => {
  it('shows each budget with what remains right after', () => {
    expect(budgetRows([asked({ unit: 'Eur' })], [balance(20, 42.5)], true)).toEqual([
      {
        policy_id: 'pol_1',
        unit: 'Eur',
        amount: 40,
        period: 'daily',
        starts_at: '2026-11-21T00:00:00.000Z',
        resets_at: '2026-11-22T00:00:00.000Z',
        remaining: 37.5,
        over_limit: false,
        reserved: true,
      },
    ])
  })

  it('shows no amount that is not valid', () => {
    expect(budgetRows([asked({ amount: null, fault: 'budget_amount_invalid' })], [balance(0, 0)], false)).toMatchObject(
      [{ amount: null, remaining: 100, reserved: false }],
    )
  })

  it.each<[number, number, boolean]>([
    [99.999999, 0.000001, false],
    [100, 0, false],
    [100.000001, 0, true],
    [250, 0, true],
  ])('at %d of 100 used', (used, remaining, over_limit) => {
    for (const taken of [balance(used, 0), balance(0, used)]) {
      expect(budgetRows([asked()], [taken], true)).toMatchObject([{ remaining, over_limit }])
    }
  })

  it('takes each balance for its own budget', () => {
    const rows = budgetRows([asked(), asked({ limit: toMicro(10) })], [balance(0, 40), balance(0, 4)], true)
    expect(rows.map(({ remaining }) => remaining)).toEqual([60, 6])
  })
})

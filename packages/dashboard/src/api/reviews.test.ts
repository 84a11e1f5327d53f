import type { Policy, SimulateResponse } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { afterOf, approving, decidingPolicies } from './reviews'

const explained = (policies: object[]) => ({ explanation: { policies } }) as unknown as SimulateResponse
const POLICY = {
  id: 'pol_1',
  name: 'refunds',
  rules: [
    { action: 'a', effect: 'deny', on_unknown: 'skip' },
    { action: 'b', effect: 'review', on_unknown: 'skip', reason: 'A person.' },
    { action: 'c', effect: 'allow' },
  ],
  budget: { limit: 1, unit: 'EUR', period: 'daily', on_exceed: 'review' },
} as unknown as Policy

function after(row: object, changes: object = {}) {
  const given = { policy_id: 'pol_1', unit: 'EUR', period: 'daily', resets_at: null }
  return afterOf({ effect: 'allow', budgets: [{ ...given, ...row }], ...changes } as unknown as SimulateResponse, [
    POLICY,
  ])
}

describe('what an approval would do', () => {
  it('asks the policies at the deciding priority that do not deny', () => {
    const one = { mode: 'enforce', priority: 5, decided: false }
    const found = decidingPolicies(
      explained([
        { ...one, policy_id: 'decides', result: 'review', decided: true },
        { ...one, policy_id: 'allows', result: 'allow' },
        { ...one, policy_id: 'misses', result: 'no_match' },
        { ...one, policy_id: 'shadow', result: 'allow', mode: 'shadow' },
        { ...one, policy_id: 'lower', result: 'allow', priority: 4 },
      ]),
    )
    expect(found).toEqual(['decides', 'allows'])
  })

  it('takes each review for an allow', () => {
    expect(approving(POLICY)).toMatchObject({
      id: 'pol_1',
      rules: [
        { action: 'a', effect: 'deny', on_unknown: 'skip' },
        { action: 'b', effect: 'allow', reason: 'A person.' },
        { action: 'c', effect: 'allow' },
      ],
    })
    expect(JSON.stringify(approving(POLICY)).match(/on_unknown/g)).toHaveLength(1)
  })

  it('tells what is left before it, exactly', () => {
    const { budgets } = after({ amount: 0.2, remaining: 0.1, reserved: true })
    expect(budgets).toMatchObject([{ amount: 0.2, remaining: 0.3, exceeds: false, policy_name: 'refunds', limit: 1 }])
  })

  it('tells of a budget without room, and who may exceed it', () => {
    const { budgets, denied } = after(
      { amount: 0.2, remaining: 0.1, reserved: false },
      { effect: 'review', reason_code: 'budget_exceeded', reason: 'No room.' },
    )
    expect(denied).toBeNull()
    expect(budgets).toMatchObject([{ amount: 0.2, remaining: 0.1, exceeds: true, may_exceed: true }])
  })

  it('tells when the budget refuses the request for another reason', () => {
    const changes = { effect: 'deny', reason_code: 'budget_amount_invalid', reason: 'No amount.' }
    expect(after({ amount: null, remaining: 1, reserved: false }, changes)).toMatchObject({
      denied: 'No amount.',
      budgets: [{ amount: null, exceeds: false }],
    })
  })
})

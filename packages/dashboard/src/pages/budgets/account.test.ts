import type { BudgetAccount, BudgetPeriod, Policy } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { isFound, oddityOf, periodName } from './account'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const account = (changes: Partial<BudgetAccount> = {}): BudgetAccount => ({
  policy_id: 'pol_1',
  agent_id: null,
  unit: 'EUR',
  limit: 100,
  period: 'monthly',
  starts_at: '2026-11-01T00:00:00.000Z',
  resets_at: '2026-12-01T00:00:00.000Z',
  spent: 0,
  reserved: 0,
  remaining: 100,
  ...changes,
})
const policy = (changes: object = {}) =>
  ({
    enabled: true,
    mode: 'enforce',
    budget: { limit: 100, unit: 'eur', period: 'monthly', scope: 'policy' },
    ...changes,
  }) as unknown as Policy

describe('a period', () => {
  it.each<[BudgetPeriod, string, string]>([
    ['hourly', '2026-11-21T10:00:00.000Z', '2026-11-21 10:00 UTC'],
    ['daily', '2026-11-21T00:00:00.000Z', '2026-11-21'],
    ['weekly', '2026-11-16T00:00:00.000Z', 'the week of 2026-11-16'],
    ['monthly', '2026-11-01T00:00:00.000Z', 'November 2026'],
    ['yearly', '2026-01-01T00:00:00.000Z', '2026'],
  ])('that is %s', (period, startsAt, name) => {
    expect(periodName(period, startsAt)).toBe(name)
  })

  it('without an end', () => {
    expect(periodName('total', null)).toBe('all time')
  })
})

describe('an account', () => {
  it('of a budget in force is nothing special', () => {
    expect(oddityOf(account(), policy(), NOW)).toBeNull()
  })

  it.each<[string, Partial<BudgetAccount>, object]>([
    ['policy deleted', { deleted_at: '2026-11-20T00:00:00.000Z' }, {}],
    ['period over', { resets_at: '2026-11-21T10:00:00.000Z' }, {}],
    ['budget removed', {}, { budget: undefined }],
    ['earlier budget', { unit: 'USD' }, {}],
    ['earlier budget', { period: 'daily' }, {}],
    ['earlier budget', { agent_id: 'agent:a' }, {}],
    ['policy disabled', {}, { enabled: false }],
    ['shadow policy', {}, { mode: 'shadow' }],
  ])('is told apart: %s', (oddity, changes, changed) => {
    expect(oddityOf(account(changes), policy(changed), NOW)).toBe(oddity)
  })

  it('is found by its policy, its agent and its unit', () => {
    const one = account({ agent_id: 'agent:support-7' })
    expect(['REFUND', 'pol_1', 'support', 'eur', ' ', 'other'].map((text) => isFound(one, 'refunds', text))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ])
  })
})

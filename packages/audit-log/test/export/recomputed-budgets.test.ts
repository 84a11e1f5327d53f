import { RecomputedBudgets } from '@countersign/audit-log'
import { describe, expect, it } from 'vitest'
import { entryOf } from './export-of.js'

const ROW = { policy_id: 'pol_1', unit: 'EUR', period: 'daily', starts_at: '2026-11-24T00:00:00.000Z', reserved: true }
const ACCOUNT = { ...ROW, unit: 'eur', agent_id: null, reserved: 0, spent: 0 }

const created = (index: number, subject: string, amount: number) =>
  entryOf('a', index, {
    subject,
    data: { version: 1, budgets: [{ ...ROW, amount }], accounts: [{ limit: 100, agent_id: null }] },
  })

const settled = (index: number, subject: string, version: number, amounts: object) =>
  entryOf('b', index, { type: 'decision.confirmed', subject, data: { version, committed: [{ ...amounts }] } })

function recompute(...entries: Parameters<RecomputedBudgets['add']>[0][]) {
  const budgets = new RecomputedBudgets()
  for (const entry of entries) budgets.add(entry)
  return { accounts: budgets.accounts(), differences: budgets.differences() }
}

describe('the budgets of a log', () => {
  it('are what its decisions reserve and have spent, in whatever order logs are read', () => {
    const result = recompute(
      settled(0, 'dec_1', 2, { amount: 0.1, was: 0, reserved: 0.3 }),
      settled(1, 'dec_1', 3, { amount: 0.2, was: 0.1, reserved: 0 }),
      created(0, 'dec_1', 0.3),
      created(1, 'dec_2', 0.1),
    )
    expect(result).toEqual({ accounts: [{ ...ACCOUNT, spent: 0.2, reserved: 0.1 }], differences: [] })
  })

  it('differ where an entry contradicts those before it', () => {
    const { differences } = recompute(
      created(0, 'dec_1', 0.3),
      settled(0, 'dec_1', 2, { amount: 0.1, was: 0, reserved: 0.2 }),
      settled(1, 'dec_1', 3, { amount: 0.2, was: 0.3, reserved: 0 }),
    )
    expect(
      differences.map(({ entry, member, logged, recomputed }) => [entry.index, member, logged, recomputed]),
    ).toEqual([
      [0, 'reserved', 0.2, 0.3],
      [1, 'was', 0.3, 0.1],
    ])
  })

  it('count amounts as the server does, to a millionth above two billions too', () => {
    const result = recompute(
      created(0, 'dec_1', 4426022010.72),
      settled(0, 'dec_1', 2, { amount: 4426022010.72, was: 0, reserved: 4426022010.72 }),
      created(1, 'dec_2', 7999999999.999999),
    )
    expect(result).toEqual({
      accounts: [{ ...ACCOUNT, spent: 4426022010.72, reserved: 7999999999.999999 }],
      differences: [],
    })
  })

  it('do not count what asked and reserved nothing', () => {
    const denied = entryOf('a', 0, {
      data: { version: 1, budgets: [{ ...ROW, amount: 5, reserved: false }], accounts: [{}] },
    })
    expect(recompute(denied).accounts).toEqual([ACCOUNT])
  })
})

import type { AuditEntry, AuditType, JsonObject } from '@countersign/contract'
import { expect, it } from 'vitest'
import { decisionOf, moneyOf } from './additions.js'

const entryOf = (type: AuditType, data: JsonObject) =>
  ({ type, agent_id: 'agent:a', subject: 'dec_1', data }) as unknown as AuditEntry

const CREATED = { effect: 'allow', action: 'mail.send', policy_id: 'pol_1', latency_ms: 0.25 }
const EURO = { policy_id: 'pol_1', unit: 'EUR' }
const NOTHING = { policyId: 'pol_1', unit: 'EUR', decided: 0n, settled: 0n, released: 0n }

it('counts a decision when it is made, and no transition of it', () => {
  expect(decisionOf(entryOf('decision.created', CREATED))).toEqual({
    effect: 'allow',
    latencyUs: 250,
    values: { effect: 'allow', action: 'mail.send', agent: 'agent:a', policy: 'pol_1' },
  })
  expect(decisionOf(entryOf('decision.confirmed', CREATED))).toBeNull()
  expect(decisionOf(entryOf('policy.created', {}))).toBeNull()
})

it('counts decisions of older releases, whose entries tell less', () => {
  expect(decisionOf(entryOf('decision.created', { effect: 'deny', policy_id: null }))).toEqual({
    effect: 'deny',
    latencyUs: null,
    values: { effect: 'deny', action: null, agent: 'agent:a', policy: null },
  })
})

it('counts as decided what was reserved, by a decision or an approval', () => {
  const budgets = [
    { ...EURO, amount: 1.000001, reserved: true },
    { policy_id: 'pol_2', unit: 'calls', amount: 1, reserved: false },
    { policy_id: 'pol_3', unit: 'calls', amount: null, reserved: false },
  ]
  for (const type of ['decision.created', 'decision.approved'] as const)
    expect(moneyOf(entryOf(type, { budgets }))).toEqual([{ ...NOTHING, decided: 1_000_001n }])
  expect(moneyOf(entryOf('decision.claimed', { budgets }))).toEqual([])
})

it.each([
  ['less than was reserved', { amount: 30, was: 0, reserved: 40 }, { settled: 30_000_000n, released: 10_000_000n }],
  ['more than was reserved', { amount: 50, was: 0, reserved: 40 }, { settled: 50_000_000n }],
  ['nothing', { amount: 0, was: 0, reserved: 40 }, { released: 40_000_000n }],
  ['late, when the reservation had ended', { amount: 10, was: 40, reserved: 0 }, { settled: -30_000_000n }],
  ['in an older release', { amount: 10 }, { settled: 10_000_000n }],
])('counts money that was spent: %s', (_, committed, moved) => {
  const data = { committed: [{ ...EURO, ...committed }] }
  expect(moneyOf(entryOf('decision.confirmed', data))).toEqual([{ ...NOTHING, ...moved }])
})

it('counts nothing of what replaces an amount in an older release', () => {
  const committed = [{ ...EURO, amount: 4 }]
  expect(moneyOf(entryOf('decision.corrected', { committed }))).toEqual([])
  expect(moneyOf(entryOf('decision.confirmed', { committed, outcome: { late: true } }))).toEqual([])
  expect(moneyOf(entryOf('decision.confirmed', { committed, outcome: { late: false } }))).toEqual([
    { ...NOTHING, settled: 4_000_000n },
  ])
})

it('passes over what is no amount', () => {
  const committed = [{ ...EURO, amount: -1 }, { ...EURO, amount: 'a' }, { amount: 1, unit: 'EUR' }, null, 7]
  expect(moneyOf(entryOf('decision.expired', { committed }))).toEqual([NOTHING, NOTHING])
  expect(moneyOf(entryOf('decision.expired', { committed: 'none' }))).toEqual([])
})

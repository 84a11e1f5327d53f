import type { AuditEntry, DecisionDetail, PermitClaims } from '@countersign/contract'
import { expect, it } from 'vitest'
import { differencesOf } from './permit-comparison.js'

const AUDIT = { log: 'a1', index: 7, leaf: 'leaf' }
const CLAIMS = {
  sub: 'agent:a',
  action: 'payment.refund',
  resource: null,
  effect: 'allow',
  policy_id: 'pol_1',
  policy_revision: 2,
  request_hash: 'hash',
  exp: 1795255505,
  amount: 42.5,
  unit: 'EUR',
  audit: AUDIT,
} as unknown as PermitClaims
const DECISION = {
  ...CLAIMS,
  agent_id: 'agent:a',
  expires_at: '2026-11-21T10:05:05.920Z',
  budgets: [{ amount: 42.5, unit: 'EUR', reserved: true }],
} as unknown as DecisionDetail
const ENTRIES = [AUDIT] as unknown as AuditEntry[]

it('finds no difference between a permit and its decision, and names each that there is', () => {
  expect(differencesOf(CLAIMS, DECISION, ENTRIES)).toEqual([])
  expect(differencesOf(CLAIMS, DECISION, null)).toEqual([])
  const { amount, unit, ...without } = CLAIMS
  expect(differencesOf(without, { ...DECISION, budgets: [] }, ENTRIES)).toEqual([])
  const changes: [Partial<PermitClaims>, string][] = [
    [{ sub: 'agent:b' }, 'the agent'],
    [{ action: 'payment.pay' }, 'the action'],
    [{ resource: 'order:1' }, 'the resource'],
    [{ effect: 'log' }, 'the effect'],
    [{ policy_id: 'pol_2' }, 'the policy'],
    [{ policy_revision: 3 }, 'the revision of the policy'],
    [{ request_hash: 'other' }, 'the hash of the request'],
    [{ exp: 1795255506 }, 'the end'],
    [{ amount: 43 }, 'the amount or its unit'],
    [{ unit: 'USD' }, 'the amount or its unit'],
    [{ audit: { ...AUDIT, leaf: 'other' } }, 'the position in the audit log'],
  ]
  for (const [change, what] of changes)
    expect(differencesOf({ ...CLAIMS, ...change }, DECISION, ENTRIES)).toEqual([what])
})

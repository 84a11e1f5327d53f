import type { AuditEntry } from '@countersign/contract'
import { expect, it } from 'vitest'
import { differencesFromLog } from './log-comparison'

const DECISION = {
  id: 'dec_1',
  agent_id: 'agent:a',
  action: 'payment.refund',
  effect: 'allow',
  reason_code: 'rule_matched',
  status: 'confirmed',
} as const
const created = {
  type: 'decision.created',
  subject: 'dec_1',
  agent_id: 'agent:a',
  data: { version: 1, action: 'payment.refund', effect: 'allow', reason_code: 'rule_matched', status: 'authorized' },
}
const confirmed = { ...created, type: 'decision.confirmed', data: { version: 2, status: 'confirmed' } }
const erased = { ...created, type: 'request.erased', data: { version: 3 } }
const differences = (changes: Partial<Parameters<typeof differencesFromLog>[0]>, entries: readonly object[]) =>
  differencesFromLog({ ...DECISION, ...changes }, entries as readonly AuditEntry[])

it('finds no difference between a decision and its entries, and names each that there is', () => {
  const entries = [created, confirmed]
  expect(differences({}, entries)).toEqual([])
  expect(differences({}, [...entries, erased])).toEqual([])
  expect(differences({ agent_id: 'agent:b' }, entries)).toEqual(['the agent'])
  expect(differences({ action: 'payment.pay' }, entries)).toEqual(['the action'])
  expect(differences({ effect: 'deny' }, entries)).toEqual(['the effect'])
  expect(differences({ reason_code: 'no_matching_policy' }, entries)).toEqual(['the reason code'])
  expect(differences({ status: 'rejected' }, entries)).toEqual(['the status'])
  expect(differences({}, [confirmed])).toEqual(['its beginning, which the log does not have'])
  expect(differences({}, [])).toHaveLength(1)
  expect(differences({}, [created, erased])).toEqual(['its entries, of which one is missing'])
  expect(differences({}, [created, { ...confirmed, subject: 'dec_2' }])).toEqual([
    'its entries, of which one is of something else',
  ])
})

it('takes the clock and older releases into account', () => {
  expect(differences({ status: 'expired' }, [created])).toEqual([])
  const { status: _status, version: _version, ...data } = created.data
  expect(differences({}, [{ ...created, data }])).toEqual([])
})

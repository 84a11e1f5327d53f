import { detailsHash, jsonHash, saltedHash } from '@countersign/audit-log'
import type { AuditEntry, AuditRecord, DecisionDetail } from '@countersign/contract'
import { expect, it } from 'vitest'
import { compareDecision } from './compare-decision'

const AT = '2026-11-21T10:00:00.000Z'
const END = '2026-11-21T10:05:00.000Z'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SALT = 'AAAAAAAAAAAAAAAAAAAAAA'
const asked = { agent_id: 'agent:a', action: 'payment.refund', resource: 'order:1', context: { amount: 5 } }
const request_hash = jsonHash(asked)
const decided = {
  ...{ effect: 'allow', reason_code: 'rule_matched', policy_id: 'pol_1', policy_revision: 1, policy_set: 1, rule: 0 },
  ...{ action: asked.action, latency_ms: 0.5 },
}
const hashed = { reason: null, advice: null, shadow: [], evaluated_at: AT, request_id: 'req_1' }
const outcome = { result: 'confirmed', amount: 5, note: 'paid', at: AT, late: false, overage: false, corrected: false }
const SHOWN = {
  ...{ id: 'dec_1', ...asked, ...decided, ...hashed, key_id: 'key_1', request_hash },
  ...{ status: 'confirmed', expires_at: END, budgets: [], review: null, outcome, trace_id: TRACE },
}
const HELD = {
  ...{
    ...SHOWN,
    version: 2,
    postings: [],
    holder: { name: null },
    claimed_at: null,
    agent_revision: null,
    redeemed: null,
  },
  ...{ audit: { log: 'a', index: 0, leaf: 'leaf' }, request: { context: asked.context, salt: SALT } },
}
const created = {
  ...{ type: 'decision.created', subject: 'dec_1', actor: 'key_1', agent_id: 'agent:a', at: AT, id: 'aud_1' },
  ...{ log: 'a', index: 0, leaf: 'leaf', trace_id: TRACE },
  data: {
    ...{ version: 1, ...decided, status: 'authorized', expires_at: END, budgets: [] },
    ...{ request: saltedHash(SALT, request_hash), details: detailsHash(HELD) },
  },
}
const confirmed = {
  ...{ ...created, type: 'decision.confirmed', index: 1, id: 'aud_2' },
  data: { version: 2, status: 'confirmed', expires_at: END, budgets: [], review: null, outcome, committed: [] },
}

function compare(shown: object = {}, entries: readonly object[] = [created, confirmed], held: object = {}) {
  const record = { kind: 'decision', id: 'dec_1', record: { ...HELD, ...held } }
  return compareDecision(
    'dec_1',
    { ...SHOWN, ...shown } as unknown as DecisionDetail,
    record as unknown as AuditRecord,
    entries as unknown as readonly AuditEntry[],
    END,
  )
}
const membersOf = (...given: Parameters<typeof compare>) => compare(...given).differences.map(({ member }) => member)

it('finds no difference between a decision and its entries', () => {
  expect(compare()).toEqual({ differences: [], unbound: [] })
})

it.each([
  ['effect', { effect: 'deny' }],
  ['agent_id', { agent_id: 'agent:b' }],
  ['reason_code', { reason_code: 'no_matching_policy' }],
  ['policy_revision', { policy_revision: 2 }],
  ['status', { status: 'rejected' }],
  ['expires_at', { expires_at: AT }],
  ['outcome.amount', { outcome: { ...outcome, amount: 50 } }],
  ['outcome.note', { outcome: { ...outcome, note: null } }],
  ['key_id', { key_id: 'key_2' }],
  ['request', { context: { amount: 6 } }],
  ['request', { resource: 'order:2' }],
  ['details', { reason: 'because' }],
  ['details', { request_id: 'req_2' }],
  ['trace_id', { trace_id: 'b'.repeat(32) }],
  ['trace_id', { trace_id: null }],
])('names %s, which the page shows otherwise', (member, shown) => {
  expect(membersOf(shown)).toContain(member)
})

it('names what is stored otherwise and not shown', () => {
  expect(membersOf({}, undefined, { redeemed: { by: 'key_2', at: AT } })).toEqual(['redeemed'])
})

it('names what is missing of the log', () => {
  expect(membersOf({}, [confirmed])).toEqual([null])
  expect(membersOf({}, [])).toEqual([null])
  expect(membersOf({}, [created, { ...confirmed, subject: 'dec_2' }])).not.toEqual([])
  expect(membersOf({}, [created, { ...confirmed, data: { ...confirmed.data, version: 3 } }])).toContain('version')
})

it('names what one entry says otherwise than the one before, also where the page repeats it', () => {
  const edited = { ...confirmed, data: { ...confirmed.data, expires_at: AT } }
  const { differences } = compare({ expires_at: AT }, [created, edited])
  expect(differences).toEqual([
    expect.objectContaining({
      ...{ member: 'expires_at', logged: END, stored: AT },
      ...{ entry: expect.objectContaining({ index: 0 }), later_entry: expect.objectContaining({ index: 1 }) },
    }),
  ])
  const denied = { ...created, data: { ...created.data, status: 'denied' } }
  expect(membersOf({}, [denied, confirmed])).toEqual(['status'])
})

it('takes the clock and older releases into account', () => {
  const open = { status: 'authorized', outcome: null, version: 1 }
  expect(membersOf({ status: 'expired', outcome: null }, [created], open)).toEqual([])
  const { version: _, status: __, details: ___, expires_at: ____, budgets: _____, ...older } = created.data
  const { trace_id: ______, ...untraced } = created
  const shown = { status: 'authorized', outcome: null, trace_id: null }
  const { differences, unbound } = compare(shown, [{ ...untraced, data: older }], open)
  expect(differences).toEqual([])
  expect(unbound).toEqual(expect.arrayContaining(['status', 'details', 'outcome', 'postings']))
})

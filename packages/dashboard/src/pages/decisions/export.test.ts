import type { DecisionDetail } from '@countersign/contract'
import { describe, expect, it, vi } from 'vitest'
import { listDecisions } from '../../api/decisions'
import { csvOf, ndjsonOf, readDecisions } from './export'

vi.mock('../../api/decisions')

const DECISION = {
  id: 'dec_1',
  effect: 'deny',
  status: 'denied',
  reason: 'Too much, "really"',
  reason_code: 'rule_matched',
  policy_id: 'pol_1',
  policy_revision: 1,
  policy_set: 1,
  rule: 0,
  agent_id: 'agent:a',
  action: 'payment.refund',
  resource: null,
  latency_ms: 0.1,
  evaluated_at: '2026-11-21T10:00:00.000Z',
  expires_at: '2026-11-21T10:05:00.000Z',
  budgets: [],
  review: null,
  outcome: null,
  advice: null,
  context: { note: 'x' },
  request_hash: 'h',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  key_id: 'key_1',
  request_id: 'req_1',
  permit_token: 'eyJ.secret.x',
} as unknown as DecisionDetail

describe('CSV', () => {
  it('has a line of names, and a line for each decision', () => {
    expect(csvOf([DECISION])).toBe(
      'id,evaluated_at,agent_id,action,resource,effect,status,reason_code,reason,policy_id,rule,latency_ms,key_id,request_hash,trace_id\r\n' +
        'dec_1,2026-11-21T10:00:00.000Z,agent:a,payment.refund,,deny,denied,rule_matched,"Too much, ""really""",pol_1,0,0.1,key_1,h,4bf92f3577b34da6a3ce929d0e0e4736\r\n',
    )
  })

  it.each(['=HYPERLINK("http://evil.example")', '+1', '-2+3', '@SUM(A1)', '\t=1', ' =1', '|cmd', '＝1'])(
    'lets no spreadsheet take %j for a formula',
    (resource) => {
      const line = csvOf([{ ...DECISION, resource }]).split('\r\n')[1] ?? ''
      const text = resource.replaceAll('"', '""')
      expect(line).toContain(`"'${text}"`)
    },
  )

  it('keeps line breaks and commas within a cell', () => {
    expect(csvOf([{ ...DECISION, resource: 'a\r\nb,c' }])).toContain('"a\r\nb,c"')
  })
})

it('JSON lines have every member but the permit', () => {
  const { permit_token: _permit, ...rest } = DECISION
  expect(ndjsonOf([DECISION])).toBe(`${JSON.stringify(rest)}\n`)
})

it.each([
  [9_800, true],
  [10_000, true],
  [10_200, false],
])('of %d that match it is %s that all are read', async (count, isComplete) => {
  vi.mocked(listDecisions).mockImplementation(async ({ cursor = '0', limit = 0 }) => {
    const next = Number(cursor) + limit
    return { data: Array(limit).fill(DECISION), next_cursor: next < count ? String(next) : null }
  })
  const progress: number[] = []
  const read = await readDecisions({}, (done) => progress.push(done))
  expect(read).toMatchObject({ isComplete })
  expect(read.items).toHaveLength(Math.min(count, 10_000))
  expect(progress.at(-1)).toBe(read.items.length)
})

import type { StatsBucket } from '@countersign/contract'
import { expect, it } from 'vitest'
import { countsOf } from './counts'

const bucket = (value: string | null, allow: number, deny: number): StatsBucket => ({
  starts_at: '2026-11-21T10:00:00.000Z',
  value,
  decisions: allow + deny,
  effects: { allow, deny, review: 0, log: 0 },
  latency_ms: null,
})

it('sums up the buckets of one agent', () => {
  const data = [bucket('a', 1, 2), bucket('b', 5, 5), bucket('a', 10, 0), bucket(null, 7, 7)]
  expect(countsOf({ data }, 'a')).toEqual({ allow: 11, deny: 2, review: 0, log: 0 })
})

it('does not say none of an agent that is counted with others', () => {
  expect(countsOf({ data: [bucket('b', 1, 0)] }, 'a')).toEqual({ allow: 0, deny: 0, review: 0, log: 0 })
  expect(countsOf({ data: [bucket('b', 1, 0), bucket(null, 1, 0)] }, 'a')).toBeNull()
})

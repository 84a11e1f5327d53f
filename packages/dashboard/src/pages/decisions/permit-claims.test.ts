import type { AuditEntry, DecisionDetail } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { permitClaims } from './permit-claims.js'

const DECISION = {
  id: 'dec_1',
  effect: 'allow',
  status: 'authorized',
  agent_id: 'agent:a',
  action: 'payment.refund',
  resource: null,
  context: { amount: 42.5 },
  policy_id: 'pol_1',
  policy_revision: 2,
  evaluated_at: '2026-11-21T10:00:05.920Z',
  expires_at: '2026-11-21T10:05:05.920Z',
  request_hash: 'hash',
  budgets: [
    { amount: 1, unit: 'calls', reserved: true },
    { amount: 42.5, unit: 'EUR', reserved: true },
  ],
} as unknown as DecisionDetail

const entry = (type: AuditEntry['type'], at: string) => ({ type, at, log: 'a1', index: 7, leaf: 'leaf' }) as AuditEntry
const CREATED = entry('decision.created', DECISION.evaluated_at)
const CLAIMED = entry('decision.claimed', '2026-11-21T10:04:00.500Z')

const claimsOf = (change: Partial<DecisionDetail>, entries: readonly AuditEntry[] | null = null) => {
  const claims = permitClaims({ ...DECISION, ...change }, entries)
  return claims && Object.fromEntries(claims.map(([name, , value]) => [name, value]))
}

describe('the claims of a permit', () => {
  it('are in whole seconds, without an amount: nobody knows which budget gives it', () => {
    expect(claimsOf({}, [CREATED])).toEqual({
      sub: 'agent:a',
      action: 'payment.refund',
      resource: 'null',
      effect: 'allow',
      jti: 'dec_1',
      iat: '1795255205 (2026-11-21T10:00:05Z)',
      exp: '1795255505 (2026-11-21T10:05:05Z)',
      policy_id: 'pol_1',
      policy_revision: '2',
      request_hash: 'hash',
      audit: 'a1, 7, leaf',
    })
  })

  it('leave out what is not known', () => {
    expect(claimsOf({})).not.toHaveProperty('audit')
    expect(claimsOf({ effect: 'review' })).not.toHaveProperty('iat')
    expect(claimsOf({ effect: 'review' }, [CREATED, CLAIMED])?.iat).toMatch(/10:04:00Z/)
  })

  it('are those of a request that was erased as far as they are known', () => {
    const claims = claimsOf({ request_hash: null, request_erased_at: '2026-11-22T10:00:00.000Z' }, [CREATED])
    expect(claims).toMatchObject({ sub: 'agent:a', action: 'payment.refund', audit: 'a1, 7, leaf' })
    expect(Object.keys(claims ?? {})).not.toEqual(expect.arrayContaining(['resource']))
    expect(claims).not.toHaveProperty('request_hash')
  })

  it('are those of what was authorized alone', () => {
    expect(claimsOf({ effect: 'deny', status: 'denied' })).toBeNull()
    for (const status of ['awaiting_review', 'approved', 'declined', 'expired', 'rejected'] as const)
      expect(claimsOf({ effect: 'review', status }, [CREATED]), status).toBeNull()
    for (const status of ['expired', 'rejected'] as const)
      expect(claimsOf({ effect: 'review', status }, [CREATED, CLAIMED]), status).not.toBeNull()
    expect(claimsOf({ effect: 'review', status: 'confirmed' })).not.toBeNull()
  })
})

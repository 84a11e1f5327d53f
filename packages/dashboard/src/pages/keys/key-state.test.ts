import { expect, it } from 'vitest'
import { stateOf } from './key-state'

it('a key is live until it expires or is revoked', () => {
  const now = Date.parse('2026-11-21T10:00:00.000Z')
  const expiring = (expires_at: string | null) => stateOf({ expires_at, revoked_at: null }, now)
  expect(expiring(null)).toBe('live')
  expect(expiring('2026-11-28T10:00:00.001Z')).toBe('live')
  expect(expiring('2026-11-28T10:00:00.000Z')).toBe('expires soon')
  expect(expiring('2026-11-21T10:00:00.001Z')).toBe('expires soon')
  expect(expiring('2026-11-21T10:00:00.000Z')).toBe('expired')
  expect(stateOf({ expires_at: null, revoked_at: '2026-11-20T00:00:00.000Z' }, now)).toBe('revoked')
})

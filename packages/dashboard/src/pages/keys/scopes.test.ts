import { type ApiKey, SCOPES, UNBINDABLE_SCOPES } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { refusalOf, scopeGroups, UNBINDABLE, whyTooWide } from './scopes'

const key = (changes: Partial<ApiKey>): ApiKey => ({
  id: 'key_01kagx3v5ne8sr6w1y6gqk4t2h',
  name: 'a key',
  scopes: ['*'],
  agents: null,
  created_at: '2026-11-21T10:00:00.000Z',
  created_by: null,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  hint: 'cs_sk_…9fQ2',
  ...changes,
})

describe('scopes to choose from', () => {
  it('are all there, once', () => {
    const shown = scopeGroups(() => null).flatMap(({ items }) => items.map(({ name }) => name))
    expect(shown.toSorted()).toEqual([...SCOPES].sort())
  })

  it('are refused as the server refuses them', () => {
    expect([...UNBINDABLE].sort()).toEqual([...UNBINDABLE_SCOPES].sort())
    expect(refusalOf('*', key({}), false)).toBeNull()
    expect(refusalOf('*', key({ scopes: ['keys:write'] }), false)).toContain('does not have')
    expect(refusalOf('keys:write', key({}), true)).toContain('bound')
    expect(refusalOf('decisions:write', key({}), true)).toBeNull()
  })
})

describe('a key with more rights', () => {
  it('has a scope more, or lives longer', () => {
    const own = key({ scopes: ['keys:write', 'keys:read'], expires_at: '2026-12-01T00:00:00.000Z' })
    expect(whyTooWide(own, key({}))).toContain('is missing *')
    expect(whyTooWide(own, key({ scopes: ['keys:read'] }))).toContain('expires before')
    expect(whyTooWide(own, key({ scopes: ['keys:read'], expires_at: '2026-12-02T00:00:00.000Z' }))).not.toBeNull()
    expect(whyTooWide(own, key({ scopes: ['keys:read'], expires_at: '2026-11-30T00:00:00.000Z' }))).toBeNull()
    expect(whyTooWide(key({}), key({}))).toBeNull()
  })
})

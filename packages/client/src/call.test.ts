import { describe, expect, it } from 'vitest'
import { pathOf, queryString } from './call.js'

describe('pathOf', () => {
  it.each([
    ['agent:support-7', '/v1/agents/agent%3Asupport-7/suspend'],
    ['team/bot+1@eu', '/v1/agents/team%2Fbot%2B1%40eu/suspend'],
    ['..%2f..', '/v1/agents/..%252f../suspend'],
    ['a?b#c d', '/v1/agents/a%3Fb%23c%20d/suspend'],
  ])('encodes %s', (id, built) => {
    expect(pathOf('/v1/agents/{id}/suspend', { id })).toBe(built)
  })

  it.each(['', '.', '..', undefined as unknown as string, null as unknown as string, 7 as unknown as string])(
    'refuses %j, which would name another endpoint',
    (id) => {
      const refused = () => pathOf('/v1/policies/{id}', { id })
      expect(refused).toThrow(TypeError)
      expect(refused).toThrow(/^id of \/v1\/policies\/\{id\} (must be a string|cannot be "\.{0,2}")/)
    },
  )
})

describe('queryString', () => {
  it('leaves out what is not given and encodes the rest', () => {
    expect(queryString({ limit: 20, cursor: undefined })).toBe('?limit=20')
    expect(queryString({ resource: 'order:ä&b=c d', from: '2026-11-21T10:00:00.000Z' })).toBe(
      '?resource=order%3A%C3%A4%26b%3Dc+d&from=2026-11-21T10%3A00%3A00.000Z',
    )
    expect(queryString({ cursor: undefined })).toBe('')
    expect(queryString()).toBe('')
  })
})

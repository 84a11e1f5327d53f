import { Countersign } from '@countersign/client'
import { describe, expect, it } from 'vitest'
import { guard } from './guard.js'
import { requirePermit } from './require-permit.js'

describe('an option in the wrong place', () => {
  const client = new Countersign({ apiKey: 'key-of-a-test' })
  const guarded = (more: object) => () => guard({ client, action: 'a.b', ...more })
  const required = (more: object) => () =>
    requirePermit({ issuer: 'i', audience: 'a', jwks: { keys: [] }, action: 'a.b', resource: null, ...more })

  it.each<[string, () => unknown, string]>([
    [
      'of requirePermit, at guard',
      guarded({ audience: 'a' }),
      'audience is not an option of guard: it is an option of requirePermit',
    ],
    ['of the client, at guard', guarded({ maxRetries: 1 }), 'new Countersign({ … })'],
    ['of a call, at guard', guarded({ holder: 'h' }), 'a route has it of each request by itself'],
    ['spelt as the client spells it, at guard', guarded({ agentId: 'agent:a' }), 'it is called agent_id'],
    ['of guard, at requirePermit', required({ graceMs: 1 }), 'it is an option of guard'],
    ['of enforcement, at requirePermit', required({ mode: 'observe' }), 'mode is not an option of requirePermit: '],
    ['the client, at requirePermit', required({ client }), 'singleUse: { redeem: client }'],
    [
      'that is of the point, beside it',
      () => guard({ point: client.enforcement(), action: 'a.b', mode: 'observe' } as never),
      'when you create the point',
    ],
  ])('%s, is told where it belongs', (_what, give, where) => {
    expect(give).toThrow(TypeError)
    expect(give).toThrow(where)
  })
})

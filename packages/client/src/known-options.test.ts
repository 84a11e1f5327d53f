import { describe, expect, it } from 'vitest'
import { ENFORCEMENT_OPTIONS } from './enforcement/enforcement-options.js'
import { Countersign } from './index.js'
import { knownOptions } from './known-options.js'

describe('an option in the wrong place', () => {
  const client = new Countersign({ apiKey: 'key-of-a-test', agentId: 'agent:a' })
  const act = { action: 'a.b' }
  const run = () => 1

  it.each<[string, () => unknown, string]>([
    [
      'of a call, at the client',
      () => new Countersign({ apiKey: 'k', idempotencyKey: 'i' } as object),
      'guard(question, action, { … })',
    ],
    [
      'of enforcement, at the client',
      () => new Countersign({ apiKey: 'k', onEvent: run } as object),
      'options of guard, protect or enforcement',
    ],
    [
      'of a call, at the enforcement point',
      () => client.enforcement({ holder: 'h' } as object),
      'guard(question, action, { … })',
    ],
    [
      'of the client, at the enforcement point',
      () => client.enforcement({ maxRetries: 1 } as object),
      'new Countersign({ … })',
    ],
    [
      'of the question, at the enforcement point',
      () => client.enforcement({ resource: 'r' } as object),
      'member of the question',
    ],
    [
      'of the client, at protect',
      () => client.protect(run, { ...act, apiKey: 'k' } as object),
      'new Countersign({ … })',
    ],
  ])('%s, is told where it belongs', (_what, give, where) => {
    expect(give).toThrow(TypeError)
    expect(give).toThrow(where)
  })

  it('spelt as elsewhere is told its name here', () => {
    expect(() => client.protect(run, { ...act, agentId: 'agent:a' } as object)).toThrow('it is called agent_id')
    expect(() => new Countersign({ apiKey: 'k', agent_id: 'agent:a' } as object)).toThrow('it is called agentId')
  })

  it('is told where it belongs by guard, whose options and action are in their places', async () => {
    const guarded = (...given: unknown[]) => Reflect.apply(client.guard, client, given)
    await expect(guarded(act, run, { maxRetries: 1 })).rejects.toThrow('new Countersign({ … })')
    await expect(guarded(act, run, { context: {} })).rejects.toThrow('member of the question')
    await expect(guarded(act, { holder: 'h' }, run)).rejects.toThrow('guard(question, action, options)')
    await expect(guarded({ ...act, holder: 'h' }, run)).rejects.toMatchObject({
      reason: 'mapping_failed',
      cause: { message: expect.stringContaining('guard(question, action, { … })') },
    })
  })

  it('that nobody knows is named', () => {
    expect(() => client.enforcement({ constructor_: 1 } as object)).toThrow(
      'constructor_ is not an option of enforcement',
    )
    expect(() => client.enforcement({ toString: run } as object)).toThrow(/toString is not an option of enforcement$/)
  })

  it('knows a place for every option that there is', () => {
    for (const name of [...ENFORCEMENT_OPTIONS, 'agent_id', 'baseUrl', 'holder', 'bind'])
      expect(() => knownOptions('nothing', { [name]: 1 }, [])).toThrow(/is not an option of nothing: \S+/)
  })
})

import { describe, expect, it } from 'vitest'
import type { EnginePolicy } from './compiled-policy.js'
import { evaluate } from './evaluate.js'
import { compilePolicies, type PolicySet, withoutPolicy, withPolicy } from './policy-set.js'

function policy(id: string, changes: Partial<EnginePolicy> = {}): EnginePolicy {
  return { id, revision: 1, name: id, rules: [{ action: 'payment.*', effect: 'allow' }], ...changes }
}

function decidedBy(set: PolicySet, agent_id = 'agent:a', action = 'payment.create'): string {
  const facts = { now: new Date(0), suspended: false, metadata: null }
  return evaluate(set, { agent_id, action, resource: null, context: null }, facts).policy_id
}

describe('a policy set', () => {
  it('counts all its policies', () => {
    const set = compilePolicies([
      policy('pol_1'),
      policy('pol_2', { enabled: false }),
      policy('pol_3', { mode: 'shadow' }),
    ])
    expect(set.size).toBe(3)
    expect(withPolicy(set, policy('pol_2')).size).toBe(3)
    expect(withPolicy(set, policy('pol_4')).size).toBe(4)
    expect(withoutPolicy(set, 'pol_2').size).toBe(2)
    expect(withoutPolicy(set, 'pol_unknown').size).toBe(3)
  })

  it('forgets the agents and actions of a policy that is replaced', () => {
    const before = compilePolicies([policy('pol_1', { agents: ['agent:a', 'agent:*', '*'] })])
    const after = withPolicy(
      before,
      policy('pol_1', { agents: ['agent:b'], rules: [{ action: '*.x', effect: 'allow' }] }),
    )
    expect(decidedBy(before)).toBe('pol_1')
    expect(decidedBy(after)).toBe('pol_default')
    expect(decidedBy(after, 'agent:b', 'a.x')).toBe('pol_1')
  })

  it('moves a policy between enforced, shadow and disabled', () => {
    const set = compilePolicies([policy('pol_1')])
    expect(decidedBy(withPolicy(set, policy('pol_1', { mode: 'shadow' })))).toBe('pol_default')
    expect(decidedBy(withPolicy(set, policy('pol_1', { enabled: false })))).toBe('pol_default')
    expect(decidedBy(withPolicy(withPolicy(set, policy('pol_1', { enabled: false })), policy('pol_1')))).toBe('pol_1')
  })

  it('finds a policy with many agents by each of them, and by none after it is gone', () => {
    const agents = Array.from({ length: 40 }, (_, at) => `agent:${at}*`)
    const set = withPolicy(compilePolicies([policy('pol_2')]), policy('pol_1', { agents }))
    expect([decidedBy(set, 'agent:7'), decidedBy(set, 'agent:39x'), decidedBy(set, 'agent:x')]).toEqual([
      'pol_1',
      'pol_1',
      'pol_2',
    ])
    expect(decidedBy(withoutPolicy(set, 'pol_1'), 'agent:7')).toBe('pol_2')
  })

  it('answers the same again, from memory', () => {
    const set = compilePolicies([policy('pol_1')])
    expect([decidedBy(set), decidedBy(set), decidedBy(set, 'agent:a', 'email.send'), decidedBy(set)]).toEqual([
      'pol_1',
      'pol_1',
      'pol_default',
      'pol_1',
    ])
  })

  it('takes the later of two policies with one id', () => {
    const set = compilePolicies([policy('pol_1'), policy('pol_1', { rules: [{ action: 'email.*', effect: 'allow' }] })])
    expect([set.size, decidedBy(set)]).toEqual([1, 'pol_default'])
  })

  it('does not mistake names of the language for entries', () => {
    const set = compilePolicies([policy('__proto__'), policy('constructor', { agents: ['toString'] })])
    expect(decidedBy(set)).toBe('__proto__')
    expect(decidedBy(compilePolicies([]), 'toString', 'constructor')).toBe('pol_default')
  })

  it('grows with the agents and rules of a policy, not with their product', () => {
    const agents = Array.from({ length: 3000 }, (_, at) => `agent:${at}`)
    const rules = Array.from({ length: 3000 }, (_, at) => ({ action: `a${at}`, effect: 'allow' as const }))
    const set = withPolicy(compilePolicies([policy('pol_1', { agents, rules })]), policy('pol_2', { agents, rules }))
    expect(decidedBy(set, 'agent:2999', 'a2999')).toBe('pol_1')
  }, 5_000)
})

import type { JsonObject } from '@countersign/contract'
import { compilePolicies, type EnginePolicy, evaluate, explain, withoutPolicy, withPolicy } from '@countersign/engine'
import { drawsOf } from '@countersign/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chance, listOf, pick, type Random, SEED, shuffled } from './random.js'
import { randomFacts, randomPolicies, randomPolicy, randomRequest } from './random-case.js'
import type { Pair } from './random-pair.js'

const RUNS = drawsOf(200)

function forRandomPairs(check: (pair: Pair, random: Random) => void): void {
  const property = fc.property(fc.gen(), (draw) => {
    const random: Random = { below: (limit) => draw(fc.nat, { max: limit - 1 }) }
    const policies = randomPolicies(random)
    check({ policies, request: randomRequest(random), facts: randomFacts(random) }, random)
  })
  fc.assert(property, { seed: SEED, numRuns: RUNS })
}

function decide({ policies, request, facts }: Pair) {
  return evaluate(compilePolicies(policies), request, facts)
}

const DENY_ALL: EnginePolicy = { id: 'pol_new', revision: 1, name: 'new', rules: [{ action: '*', effect: 'deny' }] }

describe('an evaluation', () => {
  it('does not depend on the order in which policies are loaded', () => {
    forRandomPairs((pair, random) => {
      expect(decide({ ...pair, policies: shuffled(random, pair.policies) })).toEqual(decide(pair))
    })
  })

  it('does not change when a policy is added that cannot match', () => {
    const variants: Partial<EnginePolicy>[] = [
      { agents: ['agent:nobody', 'nobody*', '*nobody'] },
      { enabled: false },
      { rules: [{ action: 'never.*', effect: 'deny' }] },
      { rules: [{ action: 'never.*', effect: 'allow' }], budget: { limit: 0, unit: 'EUR', period: 'daily' } },
      { rules: [{ action: '*', effect: 'deny', conditions: { 'now.hour': { $gt: 23 } } }] },
      { rules: [{ action: '*', effect: 'allow', conditions: { 'context.never': { $eq: 1 } } }] },
      { rules: [{ action: '*', effect: 'review', conditions: { 'context.never': { $eq: 1 } }, on_unknown: 'skip' }] },
    ]
    forRandomPairs((pair, random) => {
      const idle = { ...DENY_ALL, ...pick(random, variants), priority: pick(random, [-1, 0, 1, 1_000_000]) }
      expect(decide({ ...pair, policies: [idle, ...pair.policies] })).toEqual(decide(pair))
    })
  })

  it('is a deny when an unconditional deny of higher priority is added', () => {
    forRandomPairs((pair) => {
      const lower = pair.policies.map((policy) => ({ ...policy, priority: Math.min(policy.priority ?? 0, 999_999) }))
      const { effect, policy_id } = decide({ ...pair, policies: [...lower, { ...DENY_ALL, priority: 1_000_000 }] })
      expect({ effect, policy_id }).toEqual({
        effect: 'deny',
        policy_id: pair.facts.suspended ? 'pol_default' : DENY_ALL.id,
      })
    })
  })

  it('stays the deny of a policy when a log rule is added at its priority or below', () => {
    forRandomPairs((pair, random) => {
      const before = decide(pair)
      const decider = pair.policies.find(({ id }) => id === before.policy_id)
      fc.pre(before.effect === 'deny' && decider !== undefined)
      const priority = (decider?.priority ?? 0) - random.below(2)
      const log: EnginePolicy = { ...DENY_ALL, priority, rules: [{ action: '*', effect: 'log' }] }
      expect(decide({ ...pair, policies: [...pair.policies, log] })).toEqual(before)
    })
  })

  it('does not depend on context fields that no policy reads', () => {
    forRandomPairs((pair, random) => {
      const unused: JsonObject = { unused: pick(random, [0, 'text', null, [1], { amount: 1 }]), toJSON: 1 }
      const request = { ...pair.request, context: { ...unused, ...pair.request.context } }
      expect(decide({ ...pair, request })).toEqual(decide(pair))
    })
  })
})

describe('a changed set', () => {
  it('answers and explains as a set compiled afresh, and the set it came from answers as before', () => {
    forRandomPairs((pair, random) => {
      const { request, facts } = pair
      let policies = new Map(pair.policies.map((policy) => [policy.id, policy]))
      let set = compilePolicies(pair.policies)
      for (const id of listOf(random, 1, 6, () => pick(random, [...policies.keys(), 'pol_added', 'pol_other']))) {
        const before = { set, answer: explain(set, request, facts) }
        policies = new Map(policies)
        if (chance(random, 40)) {
          policies.delete(id)
          set = withoutPolicy(set, id)
        } else {
          policies.set(id, randomPolicy(random, id))
          set = withPolicy(set, policies.get(id) as EnginePolicy)
        }
        const afresh = compilePolicies(policies.values())
        expect(set.size).toBe(policies.size)
        expect(evaluate(set, request, facts)).toEqual(evaluate(afresh, request, facts))
        expect(explain(set, request, facts)).toEqual(explain(afresh, request, facts))
        expect(explain(before.set, request, facts)).toEqual(before.answer)
        if (policies.size === 0) break
      }
    })
  })
})

import { type Conditions, type Effect, ExplanationSchema, type HeldCondition, type Rule } from '@countersign/contract'
import { compilePolicies, type EnginePolicy, evaluate, explain } from '@countersign/engine'
import { drawsOf } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { evaluateNaively } from './naive-evaluator.js'
import { SEED, seededRandom } from './random.js'
import { type Pair, randomPairs } from './random-pair.js'

const PAIRS = drawsOf(2_000)
const LOOSE_FIRST: readonly Effect[] = ['log', 'allow', 'review', 'deny']

function forRandomPairs(check: (pair: Pair) => void): void {
  for (const pair of randomPairs(seededRandom(SEED), PAIRS)) {
    try {
      check(pair)
    } catch (error) {
      throw new Error(`SEED=${SEED} ${JSON.stringify(pair)}`, { cause: error })
    }
  }
}

function explained({ policies, request, facts }: Pair) {
  return explain(compilePolicies(policies), request, facts)
}

/** What would be decided if this rule matched whatever is asked. */
function effectIfMatched(pair: Pair, policyId: string, index: number): Effect {
  const policies = pair.policies.map((policy): EnginePolicy => {
    if (policy.id !== policyId) return policy
    const rules = policy.rules.map((rule, at) => (at === index ? { action: '*', effect: rule.effect } : rule))
    return { ...policy, rules }
  })
  return evaluateNaively(policies, pair.request, pair.facts).effect
}

function isLooser(one: Effect, other: Effect): boolean {
  return LOOSE_FIRST.indexOf(one) < LOOSE_FIRST.indexOf(other)
}

/** How many conditions failed, the ones that are only counted too. */
function failures(miss: { readonly failed: readonly unknown[]; readonly failed_omitted?: number | undefined }): number {
  return miss.failed.length + (miss.failed_omitted ?? 0)
}

/** The rule that has these parts as conditions, and nothing else. */
function ruleOf(parts: readonly HeldCondition[], effect: Effect): Rule {
  const $and = parts.map(({ path, operator, expected }) => {
    const [name, negated] = operator.split(' ').reverse() as [string, string?]
    const test = { [path]: { [name]: expected } } as Conditions
    return negated === undefined ? test : { $not: test }
  })
  return { action: '*', effect, conditions: { $and } as Conditions }
}

describe('an explanation, on random pairs', () => {
  it('names the effect, policy and rule that the evaluation names, in the form of the contract', () => {
    forRandomPairs((pair) => {
      const evaluation = evaluate(compilePolicies(pair.policies), pair.request, pair.facts)
      const explanation = explained(pair)
      expect(ExplanationSchema.safeParse(explanation).error?.issues).toBeUndefined()
      expect(explanation.effect).toBe(evaluation.effect)
      const decided = explanation.policies.filter((policy) => policy.decided)
      expect(decided.map(({ policy_id }) => policy_id)).toEqual(evaluation.rule === null ? [] : [evaluation.policy_id])
      const [policy] = decided
      if (policy === undefined) return
      expect(policy.result).toBe(evaluation.effect)
      const deciding = policy.rules.filter(({ rule }) => rule === evaluation.rule)
      expect(deciding.map(({ result }) => result)).toEqual([
        evaluation.reason_code === 'rule_matched' ? 'matched' : 'unknown',
      ])
      for (const { rule, result } of policy.rules) {
        expect(result === 'not_reached').toBe(rule > (evaluation.rule as number))
      }
    })
  })

  it('says of each policy that was reached what it says by itself', () => {
    forRandomPairs((pair) => {
      for (const { policy_id, result } of explained(pair).policies) {
        if (result === 'not_reached') continue
        const policies = pair.policies.filter(({ id }) => id === policy_id)
        const alone = evaluateNaively(
          policies.map((policy) => ({ ...policy, mode: 'enforce' })),
          pair.request,
          pair.facts,
        )
        if (alone.rule === null) expect(['no_match', 'disabled']).toContain(result)
        else expect(result).toBe(alone.effect)
      }
    })
  })

  it('shows of a rule that matched what is enough for it to match', () => {
    let conditions = 0
    forRandomPairs((pair) => {
      for (const { policy_id, rules } of explained(pair).policies) {
        for (const { rule, effect, result, held, held_omitted } of rules) {
          if (result !== 'matched') {
            expect(held).toBeUndefined()
            continue
          }
          if (held === undefined || held_omitted !== undefined) throw new Error('nothing of it is shown')
          conditions += held.length
          const source = pair.policies.find(({ id }) => id === policy_id) as EnginePolicy
          const alone: EnginePolicy = { ...source, mode: 'enforce', rules: [ruleOf(held, effect)] }
          expect(evaluateNaively([alone], pair.request, pair.facts)).toMatchObject({ effect, rule: 0 })
          expect(source.rules[rule]?.effect).toBe(effect)
        }
      }
    })
    expect(conditions).toBeGreaterThan(PAIRS / 2)
  })

  it('has a nearest miss exactly when some rule would have led to a less restrictive effect', () => {
    let misses = 0
    forRandomPairs((pair) => {
      const { effect, nearest_miss, policies } = explained(pair)
      const tried = policies
        .filter(({ mode }) => mode === 'enforce')
        .flatMap(({ policy_id, rules }) => rules.map((rule) => ({ policy_id, ...rule })))
        .filter(({ result }) => result === 'resource' || result === 'condition' || result === 'unknown')
        .filter(({ policy_id, rule }) => isLooser(effectIfMatched(pair, policy_id, rule), effect))
      if (effect === 'allow' || effect === 'log' || tried.length === 0) {
        expect(nearest_miss).toBeNull()
        return
      }
      misses += 1
      const fewest = Math.min(...tried.map(failures))
      const candidates = tried.map(({ effect: _, result: __, ...miss }) => miss)
      expect(candidates).toContainEqual(nearest_miss)
      expect(nearest_miss && failures(nearest_miss)).toBe(fewest)
    })
    expect(misses).toBeGreaterThan(PAIRS / 50)
  })
})

import { compilePolicies, type EnginePolicy, evaluate, lint } from '@countersign/engine'
import { drawsOf } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { chance, listOf, pick, SEED, seededRandom } from './random.js'
import { randomFacts, randomRequest, randomRule } from './random-case.js'

const POLICIES = drawsOf(2_000)
const REQUESTS = 8
const NEVER = ['rule_never_reached', 'deny_shadowed', 'duplicate_rule']

it('a rule that lint says can never decide never decides', () => {
  const random = seededRandom(SEED)
  let warned = 0
  for (let made = 0; made < POLICIES; made += 1) {
    const rules = listOf(random, 1, 2, () => randomRule(random))
    // A rule much like an earlier one is where a wrong warning would be given.
    for (const like of listOf(random, 1, 2, () => pick(random, rules))) {
      rules.push(chance(random, 50) ? { ...randomRule(random), ...like } : { ...like, ...randomRule(random) })
    }
    const policy: EnginePolicy = { id: 'pol_1', revision: 1, name: 'p', rules }
    const never = lint(policy)
      .filter(({ code }) => NEVER.includes(code))
      .map(({ pointer }) => Number(pointer.slice('/rules/'.length)))
    warned += never.length
    const set = compilePolicies([policy])
    for (let asked = 0; asked < REQUESTS; asked += 1) {
      const request = randomRequest(random)
      const { rule } = evaluate(set, request, { ...randomFacts(random), suspended: false })
      if (rule !== null && never.includes(rule)) {
        throw new Error(`rule ${rule} decided, SEED=${SEED} ${JSON.stringify({ policy, request })}`)
      }
    }
  }
  expect(warned).toBeGreaterThan(POLICIES / 10)
})

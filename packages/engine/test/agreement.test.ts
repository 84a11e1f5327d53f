import { isDeepStrictEqual } from 'node:util'
import { EFFECTS, PolicyDocumentSchema } from '@countersign/contract'
import type { PolicySet } from '@countersign/engine'
import { drawsOf, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { evaluateNaively, newCoverage } from './naive-evaluator.js'
import { SEED, seededRandom } from './random.js'
import { OPERATORS, randomPolicies } from './random-case.js'
import { answerOf, loadSomehow, type Pair, randomPairs } from './random-pair.js'

const PAIRS = drawsOf(stress.engine_pairs)
const LEAST_SHARE = 0.02
const TIMEOUT_MS = 600_000

it(
  'agrees with the naive evaluator on every random pair, and the pairs reach everything',
  () => {
    const counts = new Map<string, number>()
    const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const random = seededRandom(SEED)
    let set: PolicySet | null = null
    let loaded: Pair['policies'] = []
    for (const pair of randomPairs(random, PAIRS)) {
      if (set === null || pair.policies !== loaded) set = loadSomehow(random, pair.policies)
      loaded = pair.policies
      const coverage = newCoverage()
      const expected = evaluateNaively(pair.policies, pair.request, pair.facts, coverage)
      const answer = answerOf(set, pair)
      // Writing the pair down for a message takes longer than evaluating it.
      if (!isDeepStrictEqual(answer, expected)) {
        expect(answer, `SEED=${SEED} ${JSON.stringify(pair)}`).toEqual(expected)
      }
      count(`effect ${expected.effect}`)
      count(`reason ${expected.reason_code}`)
      for (const operator of coverage.operators) count(`operator ${operator}`)
      if (coverage.unknownOperators > 0) count('an operator is unknown')
      if (coverage.unknownRules > 0) count('a rule is unknown')
      if (coverage.isTie) count('a tie at equal priority')
      if (expected.shadow.length > 0) count('a shadow policy matches')
    }
    const shares = [...counts].map(([kind, times]) => ({ kind, share: times / PAIRS }))
    shares.sort((one, other) => (one.kind < other.kind ? -1 : 1))
    const lines = shares.map(({ kind, share }) => `${(share * 100).toFixed(1).padStart(6)} %  ${kind}`)
    console.log(`${PAIRS} pairs, SEED=${SEED}\n${lines.join('\n')}`)
    for (const kind of [
      ...EFFECTS.map((effect) => `effect ${effect}`),
      ...OPERATORS.map((operator) => `operator ${operator}`),
      'reason condition_indeterminate',
      'an operator is unknown',
      'a rule is unknown',
      'a tie at equal priority',
      'a shadow policy matches',
    ]) {
      expect((counts.get(kind) ?? 0) / PAIRS, `${kind}, SEED=${SEED}`).toBeGreaterThanOrEqual(LEAST_SHARE)
    }
  },
  TIMEOUT_MS,
)

it('ends at the same rule as the naive evaluator, however many steps there are', () => {
  const random = seededRandom(SEED)
  const reasons = new Map<string, number>()
  for (const pair of randomPairs(random, PAIRS / 4)) {
    const set = loadSomehow(random, pair.policies)
    const steps = random.below(30)
    const expected = evaluateNaively(pair.policies, pair.request, pair.facts, newCoverage(), steps)
    const answer = answerOf(set, pair, steps)
    if (!isDeepStrictEqual(answer, expected))
      expect(answer, `SEED=${SEED} ${steps} steps ${JSON.stringify(pair)}`).toEqual(expected)
    reasons.set(expected.reason_code, (reasons.get(expected.reason_code) ?? 0) + 1)
  }
  for (const reason of ['evaluation_limit', 'rule_matched', 'condition_indeterminate', 'no_matching_policy'])
    expect((reasons.get(reason) ?? 0) / (PAIRS / 4), reason).toBeGreaterThan(LEAST_SHARE)
})

it('makes random policies that the contract accepts', () => {
  const random = seededRandom(SEED)
  for (let made = 0; made < 500; made += 1) {
    for (const policy of randomPolicies(random)) {
      expect(
        PolicyDocumentSchema.safeParse(policy).error?.issues,
        `SEED=${SEED} ${JSON.stringify(policy)}`,
      ).toBeUndefined()
    }
  }
})

import { isDeepStrictEqual } from 'node:util'
import { PolicyDocumentSchema } from '@countersign/contract'
import * as engine from '@countersign/engine'
import { drawsOf, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { decideWithBudgets } from './budget-answer.js'
import { decideNaively } from './naive-budgets.js'
import { evaluateNaively } from './naive-evaluator.js'
import { SEED, seededRandom } from './random.js'
import { randomBudgetPairs } from './random-budget.js'
import { loadSomehow } from './random-pair.js'

const PAIRS = drawsOf(stress.engine_pairs)
const LEAST_SHARE = 0.01

it('agrees with the naive model on every budget that is asked, and the pairs reach everything', () => {
  const counts = new Map<string, number>()
  const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const random = seededRandom(SEED)
  for (const pair of randomBudgetPairs(random, PAIRS)) {
    const { policies, request, facts, phase, balances } = pair
    const expected = decideNaively(policies, request, facts, phase, balances)
    const answer = decideWithBudgets(engine, loadSomehow(random, policies), pair)
    if (!isDeepStrictEqual(answer, expected)) {
      const written = JSON.stringify(pair, (_, value) => (typeof value === 'bigint' ? String(value) : value))
      expect(answer, `SEED=${SEED} ${written}`).toEqual(expected)
    }
    const { budgets, advice, effect, reason_code } = expected
    count(`${phase}: ${Math.min(budgets.length, 2)} budgets${budgets.length > 1 ? ' or more' : ''}`)
    if (budgets.some(({ reserved }) => reserved)) count('reserved')
    if (budgets.some(({ over_limit }) => over_limit)) count('over the limit')
    if (phase === 'decision' && advice?.retry === 'never') {
      const said = evaluateNaively(policies, request, facts).effect
      count(`decision: ${said} that no budget can ever cover`)
    }
    if (advice !== null) count(`${effect}, ${reason_code}, ${advice.retry}`)
  }
  const shares = [...counts].map(([kind, times]) => ({ kind, share: times / PAIRS }))
  shares.sort((one, other) => (one.kind < other.kind ? -1 : 1))
  const lines = shares.map(({ kind, share }) => `${(share * 100).toFixed(1).padStart(6)} %  ${kind}`)
  console.log(`${PAIRS} pairs, SEED=${SEED}\n${lines.join('\n')}`)
  for (const kind of [
    'decision: 1 budgets',
    'decision: 2 budgets or more',
    'approval: 1 budgets',
    'approval: 2 budgets or more',
    'decision: review that no budget can ever cover',
    'reserved',
    'over the limit',
    'deny, agent_not_registered, never',
    'deny, budget_amount_invalid, changed',
    'deny, budget_exceeded, after',
    'deny, budget_exceeded, never',
    'deny, budget_unit_mismatch, changed',
    'review, budget_exceeded, after_approval',
  ]) {
    expect((counts.get(kind) ?? 0) / PAIRS, `${kind}, SEED=${SEED}`).toBeGreaterThanOrEqual(LEAST_SHARE)
  }
}, 600_000)

it('makes policies that the contract accepts', () => {
  for (const { policies } of randomBudgetPairs(seededRandom(SEED), 500)) {
    for (const policy of policies) {
      const { error } = PolicyDocumentSchema.safeParse(policy)
      expect(error?.issues, `SEED=${SEED} ${JSON.stringify(policy)}`).toBeUndefined()
    }
  }
})

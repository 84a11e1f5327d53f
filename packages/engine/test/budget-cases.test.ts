/** What budgets make of a review, as cases with a description each: of the engine, and of the naive model. */
import { readFileSync } from 'node:fs'
import { PolicyDocumentSchema } from '@countersign/contract'
import * as engine from '@countersign/engine'
import { expect, it } from 'vitest'
import { decideWithBudgets } from './budget-answer.js'
import { type GoldenCase, pairOf } from './golden-cases.js'
import { type BudgetAnswer, decideNaively } from './naive-budgets.js'
import type { BudgetPair } from './random-budget.js'

interface BudgetCase {
  readonly id: string
  readonly description: string
  readonly case: GoldenCase['case'] & {
    readonly phase: BudgetPair['phase']
    /** Of the first, second, … budget that is asked. */
    readonly used: readonly number[]
  }
  readonly expect: Pick<BudgetAnswer, 'effect' | 'reason_code' | 'policy_id' | 'rule'> & {
    /** Of the advice; null when no budget decides. */
    readonly retry: string | null
  }
}

const file = new URL('../cases/budgets/reviews.json', import.meta.url)
const cases: readonly BudgetCase[] = JSON.parse(readFileSync(file, 'utf8'))

it.each(cases)('$id: $description', ({ case: given, expect: { retry, ...expected } }) => {
  const { used, phase, policies } = given
  for (const policy of policies) expect(PolicyDocumentSchema.safeParse(policy).error?.issues).toBeUndefined()
  const pair = pairOf({ case: given })
  const balances = used.map((spent) => ({ spent: BigInt(spent) * 1_000_000n, reserved: 0n }))
  const naive = decideNaively(pair.policies, pair.request, pair.facts, phase, balances)
  const answer = decideWithBudgets(engine, engine.compilePolicies(pair.policies), { ...pair, phase, balances })
  expect(answer).toEqual(naive)
  expect(answer).toMatchObject(expected)
  expect(answer.advice?.retry ?? null).toBe(retry)
  // As many as are asked: a case says what is used of each.
  expect(answer.budgets).toHaveLength(used.length)
})

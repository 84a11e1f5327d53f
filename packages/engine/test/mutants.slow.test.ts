import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { PolicySet } from '@countersign/engine'
import { afterAll, describe, expect, it } from 'vitest'
import { decideWithBudgets } from './budget-answer.js'
import { capabilitiesOfCase, readCapabilityCases } from './capability-cases.js'
import { pairOf, readAgreedCases } from './golden-cases.js'
import { importMutant } from './mutant-build.js'
import { MUTANTS } from './mutants.js'
import { decideNaively } from './naive-budgets.js'
import { evaluateNaively, newCoverage } from './naive-evaluator.js'
import { seededRandom } from './random.js'
import { type BudgetPair, randomBudgetPairs } from './random-budget.js'
import { type Pair, randomPairs } from './random-pair.js'

type Engine = typeof import('@countersign/engine')

/** Always the same pairs: whether a mutant is caught must not be a matter of luck. */
const PAIRS = 20_000
const BUDGET_PAIRS = 5_000
const LIMITED_PAIRS = 4_000
const pairs = [...randomPairs(seededRandom(1), PAIRS)].map((pair) => ({
  pair,
  expected: evaluateNaively(pair.policies, pair.request, pair.facts) as object,
  maxSteps: undefined,
}))
const budgetPairs = [...randomBudgetPairs(seededRandom(1), BUDGET_PAIRS)].map((pair) => ({
  pair,
  expected: decideNaively(pair.policies, pair.request, pair.facts, pair.phase, pair.balances),
}))
/** With so few steps that many do not come to an end. */
const limitedPairs = [...randomPairs(seededRandom(2), LIMITED_PAIRS)].map((pair, at) => {
  const maxSteps = at % 25
  return {
    pair,
    maxSteps,
    expected: evaluateNaively(pair.policies, pair.request, pair.facts, newCoverage(), maxSteps) as object,
  }
})
const capabilityCases = readCapabilityCases()
const golden = readAgreedCases().map((given) => ({
  pair: pairOf(given),
  expected: given.expect as object,
  maxSteps: undefined,
}))

const folder = mkdtempSync(join(tmpdir(), 'countersign-mutants-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What was gone through until something differed; null when nothing did. */
function firstDifference(engine: Engine): string | null {
  // The fewer first: what only budgets show would else go through all the others before.
  const capable = firstWrongCapability(engine)
  if (capable !== null) return `capability ${capable}`
  const decided = firstWrongBudgets(engine)
  if (decided !== null) return `budgets ${decided}`
  const evaluated = firstWrongEvaluation(engine)
  return evaluated === null ? null : `evaluation ${evaluated}`
}

function firstWrongCapability(engine: Engine): string | null {
  const wrong = capabilityCases.find((given) => !isDeepStrictEqual(capabilitiesOfCase(engine, given), given.expect))
  return wrong?.id ?? null
}

function firstWrongBudgets(engine: Engine): number | null {
  for (const [index, { pair, expected }] of budgetPairs.entries()) {
    if (!isDeepStrictEqual(answerOrError(engine, pair), expected)) return index + 1
  }
  return null
}

/** A mutant may come upon what cannot be, and throw. */
function answerOrError(engine: Engine, pair: BudgetPair): unknown {
  try {
    return decideWithBudgets(engine, engine.compilePolicies(pair.policies), pair)
  } catch (error) {
    return error
  }
}

function firstWrongEvaluation(engine: Engine): number | null {
  let set: PolicySet | null = null
  let loaded: Pair['policies'] = []
  for (const [index, { pair, expected, maxSteps }] of [...golden, ...pairs, ...limitedPairs].entries()) {
    if (set === null || pair.policies !== loaded) set = engine.compilePolicies(pair.policies)
    loaded = pair.policies
    const { effect, policy_id, rule, reason_code, shadow } = engine.evaluate(set, pair.request, pair.facts, maxSteps)
    if (!isDeepStrictEqual({ effect, policy_id, rule, reason_code, shadow }, expected)) return index + 1
  }
  return null
}

describe('mutants of the built engine', () => {
  it('the unchanged copy agrees everywhere', async () => {
    expect(firstDifference(await importMutant(folder, null))).toBeNull()
  })

  it.each(MUTANTS)('caught: $name', async (mutant) => {
    const caughtAfter = firstDifference(await importMutant(folder, mutant))
    expect(
      caughtAfter,
      `"${mutant.name}" survives ${golden.length} golden cases, ${PAIRS} pairs, ${BUDGET_PAIRS} with budgets and ${capabilityCases.length} cases of capabilities`,
    ).not.toBeNull()
  })
})

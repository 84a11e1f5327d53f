import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { PolicySet } from '@countersign/engine'
import { afterAll, describe, expect, it } from 'vitest'
import { pairOf, readAgreedCases } from './golden-cases.js'
import { importMutant } from './mutant-build.js'
import { MUTANTS } from './mutants.js'
import { evaluateNaively } from './naive-evaluator.js'
import { seededRandom } from './random.js'
import { type Pair, randomPairs } from './random-pair.js'

type Engine = typeof import('@countersign/engine')

/** Always the same pairs: whether a mutant is caught must not be a matter of luck. */
const PAIRS = 20_000
const pairs = [...randomPairs(seededRandom(1), PAIRS)].map((pair) => ({
  pair,
  expected: evaluateNaively(pair.policies, pair.request, pair.facts) as object,
}))
const golden = readAgreedCases().map((given) => ({ pair: pairOf(given), expected: given.expect as object }))

const folder = mkdtempSync(join(tmpdir(), 'countersign-mutants-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The number of golden cases and random pairs gone through until one differed; null when none did. */
function firstDifference(engine: Engine): number | null {
  let set: PolicySet | null = null
  let loaded: Pair['policies'] = []
  for (const [index, { pair, expected }] of [...golden, ...pairs].entries()) {
    if (set === null || pair.policies !== loaded) set = engine.compilePolicies(pair.policies)
    loaded = pair.policies
    const { effect, policy_id, rule, reason_code, shadow } = engine.evaluate(set, pair.request, pair.facts)
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
    expect(caughtAfter, `"${mutant.name}" survives ${golden.length} golden cases and ${PAIRS} pairs`).not.toBeNull()
  })
})

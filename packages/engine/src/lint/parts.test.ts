/** What a large policy takes is done in parts, so that others have their turns: none of them grows with the policy. */
import type { Conditions, PolicyDocument } from '@countersign/contract'
import { expect, it } from 'vitest'
import type { EnginePolicy } from '../compiled-policy.js'
import { compileInParts } from '../policy-set.js'
import { lintInParts } from './lint.js'

/** How many parts there are, and the milliseconds of the longest. */
function partsOf(parts: Generator<void, unknown>) {
  let count = 0
  let longestMs = 0
  for (let isDone = false; !isDone; count++) {
    const started = performance.now()
    isDone = parts.next().done === true
    longestMs = Math.max(longestMs, performance.now() - started)
  }
  return { count, longestMs }
}

const stored = (document: PolicyDocument): EnginePolicy => ({ ...document, id: 'pol_1', revision: 1 })
const alternatives = (count: number): Conditions => ({
  $or: Array.from({ length: count }, (_, at) => ({ 'context.amount': { $lte: at } })),
})
const many = (count: number, beginning: string) => Array.from({ length: count }, (_, at) => `${beginning}${at}`)
const BUDGET = { limit: 5, unit: 'EUR', period: 'monthly' as const }
const RULES = [{ action: 'a.b', effect: 'allow' as const }]

// The bounds are so near to what there are that each loop has to yield.
it.each<[string, number, () => Generator<void, unknown>]>([
  [
    'agents of two policies that are compared with each other',
    1000,
    () => {
      const agents = many(1000, 'agent:one-')
      const below = stored({ name: 'below', rules: RULES, agents: many(1000, 'agent:other-'), budget: BUDGET })
      return lintInParts({ name: 'above', priority: 1, rules: RULES, agents }, [below], null)
    },
  ],
  [
    'rules of two policies that are compared with each other',
    4800,
    () => {
      const rules = many(700, 'one.').map((action) => ({ action, effect: 'allow' as const }))
      const other = many(700, 'other.').map((action) => ({ action, effect: 'allow' as const }))
      const below = stored({ name: 'below', rules: other, budget: BUDGET })
      return lintInParts({ name: 'above', priority: 1, rules }, [below], null)
    },
  ],
  [
    'alternatives of one rule',
    5 * 5000,
    () =>
      lintInParts({ name: 'p', rules: [{ action: 'a.b', effect: 'allow', conditions: alternatives(5000) }] }, [], null),
  ],
  [
    'agents of a policy that is compiled',
    4 * 20_000,
    () => compileInParts([stored({ name: 'p', rules: RULES, agents: many(20_000, 'agent:') })]),
  ],
  [
    'rules of a policy that is compiled',
    3 * 4000,
    () =>
      compileInParts([stored({ name: 'p', rules: many(4000, 'a.').map((action) => ({ action, effect: 'allow' })) })]),
  ],
])('%s', (what, least, begin) => {
  const { count, longestMs } = partsOf(begin())
  console.log(`${what}: ${count} parts, the longest took ${longestMs.toFixed(1)} ms`)
  expect(count).toBeGreaterThanOrEqual(least)
})

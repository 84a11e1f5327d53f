import { expect, it } from 'vitest'
import { AdmittedDecisions } from './admitted-decisions.js'

it('admits a decision once', () => {
  const admitted = new AdmittedDecisions()
  expect([admitted.add('dec_1', 100, 0), admitted.add('dec_1', 100, 50), admitted.add('dec_2', 100, 50)]).toEqual([
    true,
    false,
    true,
  ])
})

it('forgets what is over, and remembers whatever is not', () => {
  const admitted = new AdmittedDecisions()
  for (let index = 0; index < 10_000; index += 1) {
    expect(admitted.add(`dec_${index}`, index + 10, index)).toBe(true)
    if (index >= 5) expect(admitted.add(`dec_${index - 5}`, 0, index)).toBe(false)
  }
  // Long over: it is in nobody's way, and was forgotten.
  expect(admitted.add('dec_0', 1, 10_000)).toBe(true)
})

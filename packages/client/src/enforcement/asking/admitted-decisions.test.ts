import { expect, it } from 'vitest'
import { AdmittedDecisions } from './admitted-decisions.js'

it('admits a decision once', () => {
  const admitted = new AdmittedDecisions()
  const first = admitted.take('dec_1', 100, 0)
  expect([first?.isTaken, admitted.take('dec_1', 100, 50), admitted.take('dec_2', 100, 50)?.isTaken]).toEqual([
    true,
    undefined,
    true,
  ])
})

it('admits what was given back once more, and knows what became of it before', () => {
  const admitted = new AdmittedDecisions()
  const first = admitted.take('dec_1', 100, 0)
  Object.assign(first ?? {}, { isTaken: false, hasBegun: true })
  expect(admitted.take('dec_1', 100, 50)).toMatchObject({ hasBegun: true, isRedeemed: false })
  expect(admitted.take('dec_1', 100, 50)).toBeUndefined()
})

it('forgets what is over, and remembers whatever is not', () => {
  const admitted = new AdmittedDecisions()
  for (let index = 0; index < 10_000; index += 1) {
    expect(admitted.take(`dec_${index}`, index + 10, index)).toBeDefined()
    if (index >= 5) expect(admitted.take(`dec_${index - 5}`, 0, index)).toBeUndefined()
  }
  // Long over: it is in nobody's way, and was forgotten.
  expect(admitted.take('dec_0', 1, 10_000)).toBeDefined()
})

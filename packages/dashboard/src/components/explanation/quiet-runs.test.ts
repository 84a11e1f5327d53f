import { expect, it } from 'vitest'
import { quietRuns } from './quiet-runs.js'

it('folds neighbours that are quiet, and keeps the order', () => {
  const isOdd = (value: number) => value % 2 === 1
  expect(quietRuns([1, 3, 2, 4, 5, 7, 8], isOdd)).toEqual([
    { folded: [1, 3] },
    { shown: 2 },
    { shown: 4 },
    { folded: [5, 7] },
    { shown: 8 },
  ])
  expect(quietRuns([], isOdd)).toEqual([])
})

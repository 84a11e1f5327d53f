import { describe, expect, it } from 'vitest'
import { usedPercent, usedShare } from './budgets'

describe('what is used of a budget', () => {
  it.each([
    [0.1, 0.2, 0.3, 1, 100],
    [0.7, 0.1, 0.8, 1, 100],
    [0, 0.29, 1, 0.29, 29],
    [99.999999, 0, 100, 99.999999 / 100, 99],
    [0, 0, 0, 1, 100],
    [150, 0, 100, 1.5, 150],
  ])('%d spent and %d reserved of %d', (spent, reserved, limit, share, percent) => {
    expect([usedShare({ spent, reserved, limit }), usedPercent({ spent, reserved, limit })]).toEqual([share, percent])
  })
})

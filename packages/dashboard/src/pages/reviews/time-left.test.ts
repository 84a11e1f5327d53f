import { expect, it } from 'vitest'
import { timeLeftText } from './time-left'

it.each([
  [86_399_000, '23 h 59 min left'],
  [3_600_000, '1 h 0 min left'],
  [3_599_999, '59 min left'],
  [600_000, '10 min left'],
  [599_999, '9 min 59 s left'],
  [5_000, '0 min 05 s left'],
  [0, 'Expired'],
  [-1, 'Expired'],
])('%d ms are told as %s', (ms, text) => {
  expect(timeLeftText(ms)).toBe(text)
})

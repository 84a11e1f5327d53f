import { expect, it } from 'vitest'
import { endOf, expiryChoices } from './expiry'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const valuesOf = (ownEnd: string | null) => expiryChoices(ownEnd, NOW).map(({ value }) => value)

it('offers no end after that of the own key', () => {
  expect(valuesOf(null)).toEqual(['never', '30', '90', '365', 'at'])
  expect(valuesOf('2027-01-01T00:00:00.000Z')).toEqual(['own', '30', 'at'])
})

it('is a time of the API', () => {
  expect(endOf('never', null, null, NOW)).toBeNull()
  expect(endOf('30', null, null, NOW)).toBe('2026-12-21T10:00:00.000Z')
  expect(endOf('own', null, '2027-01-01T00:00:00.000Z', NOW)).toBe('2027-01-01T00:00:00.000Z')
  expect(endOf('at', '2026-11-22T00:00:00.000Z', null, NOW)).toBe('2026-11-22T00:00:00.000Z')
})

import { BUDGET_PERIODS, type BudgetPeriod } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { periodAt } from './period.js'

const at = (moment: string | number) => new Date(moment)
const start = (period: BudgetPeriod, moment: number) => periodAt(period, at(moment)).starts_at

/** Days and hours at which a period ends and the next begins, and when those two begin and end. */
const TURNS: [BudgetPeriod, string, string, string][] = [
  ['hourly', '2026-11-21T09:00', '2026-11-21T10:00', '2026-11-21T11:00'],
  ['hourly', '2026-12-31T23:00', '2027-01-01T00:00', '2027-01-01T01:00'],
  // Clocks in Europe are put back in this night, UTC is not.
  ['hourly', '2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
  ['daily', '2026-11-20T00:00', '2026-11-21T00:00', '2026-11-22T00:00'],
  ['daily', '2028-02-28T00:00', '2028-02-29T00:00', '2028-03-01T00:00'],
  ['daily', '2027-02-28T00:00', '2027-03-01T00:00', '2027-03-02T00:00'],
  ['daily', '2026-12-31T00:00', '2027-01-01T00:00', '2027-01-02T00:00'],
  ['weekly', '2026-11-16T00:00', '2026-11-23T00:00', '2026-11-30T00:00'],
  ['weekly', '2026-12-21T00:00', '2026-12-28T00:00', '2027-01-04T00:00'],
  ['weekly', '2024-12-23T00:00', '2024-12-30T00:00', '2025-01-06T00:00'],
  ['weekly', '2028-02-21T00:00', '2028-02-28T00:00', '2028-03-06T00:00'],
  ['monthly', '2026-10-01T00:00', '2026-11-01T00:00', '2026-12-01T00:00'],
  ['monthly', '2026-12-01T00:00', '2027-01-01T00:00', '2027-02-01T00:00'],
  ['monthly', '2028-02-01T00:00', '2028-03-01T00:00', '2028-04-01T00:00'],
  ['monthly', '2100-02-01T00:00', '2100-03-01T00:00', '2100-04-01T00:00'],
  ['yearly', '2026-01-01T00:00', '2027-01-01T00:00', '2028-01-01T00:00'],
  ['yearly', '2028-01-01T00:00', '2029-01-01T00:00', '2030-01-01T00:00'],
]

describe('periodAt', () => {
  it.each(TURNS)('%s: from %s to %s to %s', (period, before, turn, after) => {
    const [first, second, third] = [before, turn, after].map((text) => `${text}:00.000Z`) as [string, string, string]
    const moment = Date.parse(second)
    for (const early of [-1000, -1]) {
      expect(periodAt(period, at(moment + early))).toEqual({ starts_at: first, resets_at: second })
    }
    for (const late of [0, 1, 1000]) {
      expect(periodAt(period, at(moment + late))).toEqual({ starts_at: second, resets_at: third })
    }
  })

  it('never ends for total', () => {
    expect(periodAt('total', at('2026-11-21T10:00:00.000Z'))).toEqual({ starts_at: null, resets_at: null })
  })

  it('holds the moment, and ends where the next one begins', () => {
    const moments = fc.date({
      min: at('1970-01-01T00:00:00Z'),
      max: at('9998-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    const periods = fc.constantFrom(...BUDGET_PERIODS.filter((period) => period !== 'total'))
    fc.assert(
      fc.property(periods, moments, (period, moment) => {
        const { starts_at, resets_at } = periodAt(period, moment)
        const [from, to] = [Date.parse(starts_at as string), Date.parse(resets_at as string)]
        expect(from <= moment.getTime() && moment.getTime() < to).toBe(true)
        expect(start(period, from)).toBe(starts_at)
        expect(start(period, to - 1)).toBe(starts_at)
        expect(start(period, to)).toBe(resets_at)
      }),
      { numRuns: 2_000 },
    )
  })

  it('begins a week on Monday', () => {
    fc.assert(
      fc.property(fc.date({ min: at(0), max: at('2200-01-01T00:00:00Z'), noInvalidDate: true }), (moment) => {
        expect(at(periodAt('weekly', moment).starts_at as string).getUTCDay()).toBe(1)
      }),
    )
  })
})

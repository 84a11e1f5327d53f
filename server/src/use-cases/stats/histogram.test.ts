import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addHistogram, bucketOf, latencyOf, toMicroseconds } from './histogram.js'

function histogramOf(latencies: readonly number[]) {
  const histogram: Record<string, number> = {}
  for (const latency of latencies) addHistogram(histogram, { [bucketOf(toMicroseconds(latency))]: 1 })
  return { histogram, maxUs: Math.max(0, ...latencies.map(toMicroseconds)) }
}

/** The smallest latency that a percentage of all are not above. */
function trueQuantile(latencies: readonly number[], percent: number): number {
  const sorted = latencies.toSorted((one, other) => one - other)
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] as number
}

/** As decisions have them: milliseconds with three decimals, from a microsecond to an hour. */
const latency = fc
  .integer({ min: 0, max: 950 })
  .chain((exponent) =>
    fc
      .double({ min: 1, max: 1.01, noNaN: true })
      .map((factor) => Math.min(3_600_000, Math.max(0.001, Math.round(10 ** (exponent / 100) * factor) / 1000))),
  )

it('has quantiles that are at most 5 percent above the true ones and never below, and the true maximum', () => {
  fc.assert(
    fc.property(fc.array(latency, { minLength: 1, maxLength: 300 }), (latencies) => {
      const { histogram, maxUs } = histogramOf(latencies)
      const found = latencyOf(histogram, maxUs)
      expect(found).not.toBeNull()
      expect(found?.max).toBe(Math.max(...latencies))
      for (const percent of [50, 90, 99] as const) {
        const exact = trueQuantile(latencies, percent)
        expect(found?.[`p${percent}`]).toBeGreaterThanOrEqual(exact)
        expect(found?.[`p${percent}`]).toBeLessThanOrEqual(exact * 1.05)
      }
    }),
  )
})

it('is the same whether latencies are counted together or added up later', () => {
  fc.assert(
    fc.property(fc.array(latency), fc.array(latency), (some, others) => {
      const sum = histogramOf(some).histogram
      addHistogram(sum, histogramOf(others).histogram)
      expect(sum).toEqual(histogramOf([...some, ...others]).histogram)
    }),
  )
})

it('has no quantiles of nothing', () => {
  expect(latencyOf({}, 0)).toBeNull()
})

it('names the buckets of stored histograms for good', () => {
  const places = [1, 2, 39, 40, 41, 42, 43, 44, 1000, 1_000_000, 3_600_000_000].map(bucketOf)
  expect(places).toEqual([0, 1, 38, 39, 40, 40, 41, 41, 110, 252, 420])
})

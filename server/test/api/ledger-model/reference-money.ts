/** Amounts as whole numbers of 1e-6 units, and calendar periods; written from the contract alone. */

/** Half up to 1e-6 from the shortest decimal of the number; a positive one never to 0. */
export function micro(value: number): bigint {
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  const shift = Number(exponent) - fraction.length + 6
  const all = BigInt(whole + fraction)
  if (shift >= 0) return all * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  const rounded = (2n * all + divisor) / (2n * divisor)
  return value > 0 && rounded === 0n ? 1n : rounded
}

export function number(amount: bigint): number {
  return Number(`${amount}e-6`)
}

export interface Period {
  readonly starts_at: string | null
  readonly resets_at: string | null
}

const DAY_MS = 86_400_000

/** The UTC calendar period of a moment; weeks start on Monday. */
export function periodOf(kind: string, nowMs: number): Period {
  if (kind === 'total') return { starts_at: null, resets_at: null }
  const now = new Date(nowMs)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const midnight = nowMs - (nowMs % DAY_MS)
  const monday = midnight - ((now.getUTCDay() + 6) % 7) * DAY_MS
  const hour = nowMs - (nowMs % 3_600_000)
  const bounds: Readonly<Record<string, readonly [number, number]>> = {
    hourly: [hour, hour + 3_600_000],
    daily: [midnight, midnight + DAY_MS],
    weekly: [monday, monday + 7 * DAY_MS],
    monthly: [Date.UTC(year, month), Date.UTC(year, month + 1)],
    yearly: [Date.UTC(year, 0), Date.UTC(year + 1, 0)],
  }
  const found = bounds[kind]
  if (found === undefined) throw new Error(`The reference does not know the period ${kind}.`)
  const [start, end] = found.map((ms) => new Date(ms).toISOString())
  return { starts_at: start as string, resets_at: end as string }
}

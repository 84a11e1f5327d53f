/** Amounts as whole numbers of millionths: sums of them are exact. */
import { LIMITS } from './limits.js'

const DECIMALS = LIMITS.amountDecimals

/**
 * An amount as a whole number of 1e-6 units: rounded half up from the shortest decimal that reads back as this double, a
 * positive one never to 0.
 *
 * @throws RangeError for what is no amount: below 0, above 1e12, NaN
 */
export function toMicro(value: number): bigint {
  if (!isBudgetAmount(value)) throw new RangeError(`${value} is not an amount from 0 to ${LIMITS.amount}`)
  if (value === 0) return 0n
  // Below this a double is written with an exponent, and whatever is more than nothing counts as one unit.
  if (value < 1e-6) return 1n
  const [whole = '', decimals = ''] = String(value).split('.')
  const floor = BigInt(whole + decimals.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return decimals.charAt(DECIMALS) >= '5' ? floor + 1n : floor
}

/** The double nearest to so many 1e-6 units; rounded once, by the reading of the decimal. */
export function fromMicro(micro: bigint): number {
  return Number(`${micro}e-${DECIMALS}`)
}

/** Whether a value of a request can be an amount; it may have more decimals than count. */
export function isBudgetAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LIMITS.amount
}

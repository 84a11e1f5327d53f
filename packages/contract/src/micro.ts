/** Amounts as whole numbers of millionths, so that sums are exact. */
import { LIMITS } from './limits.js'

const DECIMALS = LIMITS.amountDecimals

/**
 * Converts an amount to a whole number of 1e-6 units: rounds the shortest decimal of this double half up, but a
 * positive amount never to 0.
 *
 * @throws RangeError for an invalid amount: below 0, above 1e12, NaN
 */
export function toMicro(value: number): bigint {
  if (!isBudgetAmount(value)) throw new RangeError(`${value} is not an amount from 0 to ${LIMITS.amount}`)
  if (value === 0) return 0n
  // Below this, a double is written with an exponent, and any positive amount counts as one unit.
  if (value < 1e-6) return 1n
  const [whole = '', decimals = ''] = String(value).split('.')
  const floor = BigInt(whole + decimals.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return decimals.charAt(DECIMALS) >= '5' ? floor + 1n : floor
}

/** Returns the double nearest to a number of 1e-6 units; only parsing the decimal rounds. */
export function fromMicro(micro: bigint): number {
  return Number(`${micro}e-${DECIMALS}`)
}

/** Whether a value of a request can be an amount; it may have more decimals than are counted. */
export function isBudgetAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LIMITS.amount
}

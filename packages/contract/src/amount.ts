import { z } from 'zod'
import { LIMITS } from './limits.js'

/** Returns the number of decimals of the shortest text that parses to this double: 0.5 has 1, 1e-7 has 7. */
function decimalsOf(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return (digits.split('.')[1]?.length ?? 0) - Number(exponent)
}

/** Whether a number is an amount that a person may write: 0 to 1e12, at most 6 decimals. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LIMITS.amount && decimalsOf(value) <= LIMITS.amountDecimals
}

/** The rule of `isAmount` in words. */
export const AMOUNT_RULE = `0 to ${LIMITS.amount} with at most ${LIMITS.amountDecimals} decimals`

/** An amount that a person writes, in the unit of its budget. */
export const AmountSchema = z
  .number()
  .refine(isAmount, { error: `must be ${AMOUNT_RULE}` })
  .meta({ minimum: 0, maximum: LIMITS.amount })

/** The amount really spent: rounded half up to 1e-6, but a positive amount never becomes 0. */
export const SpentAmountSchema = z.number().min(0).max(LIMITS.amount)

import { sumOf } from '../api/exact-sum'
import classes from './budget-bar.module.css'

export const NEAR_LIMIT = 0.8

export type BudgetLevel = 'room' | 'near' | 'full'

/** @param share the used part of the limit: 1 is all of it */
export function levelOf(share: number): BudgetLevel {
  return share >= 1 ? 'full' : share >= NEAR_LIMIT ? 'near' : 'room'
}

export interface BudgetBarProps {
  readonly limit: number
  /** The amount that is spent. */
  readonly used: number
  /** The amount that is reserved, or would be. It is shown hatched after the first part. */
  readonly held: number
  /** Describes the bar for a screen reader. */
  readonly label: string
}

/** Shows how much of a budget is spent and reserved. Amounts over the limit do not make the bar longer. */
export function BudgetBar({ limit, used, held, label }: BudgetBarProps) {
  const percentOf = (amount: number) => (limit === 0 ? 0 : Math.min(100, (100 * amount) / limit))
  const usedPercent = percentOf(used)
  const heldPercent = Math.min(100 - usedPercent, percentOf(held))
  const level = levelOf(limit === 0 ? 1 : sumOf(used, held) / limit)
  return (
    <div className={classes.bar} role="img" aria-label={label} data-level={level}>
      <div className={classes.part} data-kind="used" style={{ width: `${usedPercent}%` }} />
      <div className={classes.part} data-kind="held" style={{ width: `${heldPercent}%` }} />
    </div>
  )
}

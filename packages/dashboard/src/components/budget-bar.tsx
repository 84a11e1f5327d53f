import { sumOf } from '../api/exact-sum'
import classes from './budget-bar.module.css'

export const NEAR_LIMIT = 0.8

export type BudgetLevel = 'room' | 'near' | 'full'

/** @param share how much of the limit is used: 1 is all of it */
export function levelOf(share: number): BudgetLevel {
  return share >= 1 ? 'full' : share >= NEAR_LIMIT ? 'near' : 'room'
}

export interface BudgetBarProps {
  readonly limit: number
  /** What is gone for good. */
  readonly used: number
  /** What is held, or would be: shown hatched after the first part. */
  readonly held: number
  /** What the bar shows, in words. */
  readonly label: string
}

/** How much of a budget is used and held. What is more than the limit does not make it longer. */
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

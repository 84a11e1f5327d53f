import type { RuleExplanation } from '@countersign/contract'
import { visibleText } from '../invisible'
import classes from './explanation.module.css'
import { NotShown, valueText } from './failed-conditions'
import { type HeldOfPath, heldByPath } from './held-words'

/** Lists the conditions that matched, on one line for each value. */
export function HeldConditions({
  held = [],
  held_omitted: omitted = 0,
}: Pick<RuleExplanation, 'held' | 'held_omitted'>) {
  if (held.length === 0 && omitted === 0) return null
  return (
    <ul className={classes.conditions} aria-label="Conditions that matched">
      {heldByPath(held).map((one) => (
        <li key={`${one.path} ${one.words}`}>
          <code>{visibleText(one.path)}</code>
          <Value {...one} />
          <span>{one.words}</span>
        </li>
      ))}
      {omitted > 0 && <li className="quiet">{omitted} more held</li>}
    </ul>
  )
}

/** Renders nothing for a path without a value: `is missing` says so. */
function Value({ actual, redacted }: Pick<HeldOfPath, 'actual' | 'redacted'>) {
  if (redacted) return <NotShown />
  return actual === null ? null : <code className={classes.actual}>{valueText(actual)}</code>
}

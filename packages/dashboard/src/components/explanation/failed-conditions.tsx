import type { FailedCondition, RuleExplanation } from '@countersign/contract'
import { visibleText } from '../invisible'
import { jsonText } from '../json/json-view'
import classes from './explanation.module.css'

/** Lists each condition that failed, with its expected and its actual value. */
export function FailedConditions({
  failed,
  failed_omitted: omitted = 0,
}: Pick<RuleExplanation, 'failed' | 'failed_omitted'>) {
  if (failed.length === 0 && omitted === 0) return null
  return (
    <ul className={classes.conditions}>
      {failed.map((condition) => (
        <li key={JSON.stringify(condition)}>
          <code>
            {visibleText(condition.path)} {condition.operator}
          </code>
          <span>
            <span className="quiet">expected </span>
            <code>{valueText(condition.expected)}</code>
          </span>
          <span>
            <span className="quiet">actual </span>
            <Actual {...condition} />
          </span>
        </li>
      ))}
      {omitted > 0 && <li className="quiet">{omitted} more failed</li>}
    </ul>
  )
}

function Actual({ actual, found, redacted }: FailedCondition) {
  if (redacted) return <NotShown />
  if (found === 'missing') return <strong>missing</strong>
  if (found !== undefined)
    return <strong>{found === 'null' ? 'null' : `of type ${found}`}, which cannot be compared</strong>
  return <code className={classes.actual}>{actual === null ? 'missing' : valueText(actual)}</code>
}

/** Writes a value on one line. The server has already shortened long values. */
export function valueText(value: FailedCondition['expected']): string {
  return typeof value === 'object' && value !== null ? visibleText(JSON.stringify(value)) : jsonText(value)
}

export function NotShown() {
  return <strong>not shown: your key is missing agents:read</strong>
}

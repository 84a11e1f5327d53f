import { Text } from '@mantine/core'
import { Amount } from '../../components/amount'
import { Badge } from '../../components/badges'
import { PolicyLink } from '../../components/object-links'
import type { UnusedBudget } from './account'
import classes from './budgets.module.css'

/** A budget that no agent has used. */
export function UnusedRow({ policy: { id, name, enabled, mode }, budget }: UnusedBudget) {
  const { limit, unit, period, scope } = budget
  return (
    <li className={classes.row}>
      <div className={classes.what}>
        <div className={classes.name}>
          <PolicyLink id={id} name={name} />
          {!enabled && <Badge tone="quiet">policy disabled</Badge>}
          {enabled && mode === 'shadow' && <Badge tone="quiet">shadow policy</Badge>}
        </div>
        <Text size="sm" className="quiet" component="div">
          {period}
          {scope === 'agent' && ', each agent has its own'}
        </Text>
      </div>
      <div className={classes.use}>
        <span>
          <Amount amount={limit} unit={unit} />
          {scope === 'agent' && ' for each agent'}
        </span>
        <Text size="sm" className="quiet">
          {period === 'total' ? 'Nothing spent yet' : 'Nothing spent yet in this period'}
        </Text>
      </div>
    </li>
  )
}

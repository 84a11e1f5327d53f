import type { BudgetAccount, Policy } from '@countersign/contract'
import { Button, Text } from '@mantine/core'
import { usedPercent, usedShare } from '../../api/budgets'
import { Amount, amountText } from '../../components/amount'
import { Badge } from '../../components/badges'
import { BudgetBar, levelOf, NEAR_LIMIT } from '../../components/budget-bar'
import { AgentLink } from '../../components/object-links'
import { Ago, useNow } from '../../components/time'
import { oddityOf, periodName, utcMinute } from './account'
import classes from './budgets.module.css'
import { PolicyName } from './policy-name'

export interface AccountRowProps {
  readonly account: BudgetAccount
  readonly policy: Policy | undefined
  readonly onHistory: () => void
}

export function AccountRow({ account, policy, onHistory }: AccountRowProps) {
  const { agent_id, unit, limit, period, spent, reserved, remaining } = account
  const oddity = oddityOf(account, policy, useNow())
  const percent = usedPercent(account)
  return (
    <li className={classes.row}>
      <div className={classes.what}>
        <div className={classes.name}>
          <PolicyName account={account} policy={policy} />
          {oddity !== null && <Badge tone="quiet">{oddity}</Badge>}
        </div>
        {agent_id !== null && (
          <Text size="sm" component="div">
            <AgentLink id={agent_id} />
          </Text>
        )}
        <Text size="sm" className="quiet" component="div">
          {period}, <Reset account={account} />
        </Text>
      </div>
      <div className={classes.use}>
        <div className={classes.name}>
          <span>
            <Text component="span" fw={600}>
              <Amount amount={remaining} unit={unit} />
            </Text>{' '}
            left of <Amount amount={limit} unit={unit} />
          </span>
          <Level account={account} />
        </div>
        <BudgetBar
          limit={limit}
          used={spent}
          held={reserved}
          label={`${percent} % of ${amountText(limit, unit)} used`}
        />
        <Text size="sm" className="quiet">
          <Amount amount={spent} unit={unit} /> spent, <Amount amount={reserved} unit={unit} /> reserved
        </Text>
      </div>
      <Button size="xs" variant="default" onClick={onHistory} aria-haspopup="dialog">
        History
      </Button>
    </li>
  )
}

function Level({ account }: { readonly account: BudgetAccount }) {
  const share = usedShare(account)
  const level = levelOf(share)
  if (level === 'room') return null
  if (level === 'near') return <Badge tone="review">{`over ${NEAR_LIMIT * 100} %`}</Badge>
  return <Badge tone="deny">{share > 1 ? 'over the limit' : 'full'}</Badge>
}

function Reset({ account: { period, starts_at, resets_at } }: { readonly account: BudgetAccount }) {
  const now = useNow()
  if (resets_at === null) return <>never resets</>
  if (Date.parse(resets_at) <= now) return <>of {periodName(period, starts_at)}</>
  return (
    <>
      resets <Ago at={resets_at} />, {utcMinute(resets_at)}
    </>
  )
}

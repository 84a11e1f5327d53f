import type { BudgetAccount } from '@countersign/contract'
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { budgetHistory, keyOf, MOST_ACCOUNTS, usedPercent } from '../../api/budgets'
import { usePoliciesById } from '../../api/policy-names'
import { Amount, amountText } from '../../components/amount'
import { BudgetBar } from '../../components/budget-bar'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading } from '../../components/page'
import { SidePanel } from '../../components/side-panel'
import { periodName } from './account'
import classes from './budgets.module.css'

export interface HistoryPanelProps {
  /** Null while the panel is closed. */
  readonly account: BudgetAccount | null
  readonly onClose: () => void
}

/** The spending of past periods. */
export function HistoryPanel({ account, onClose }: HistoryPanelProps) {
  const name = usePoliciesById()?.get(account?.policy_id ?? '')?.name ?? account?.policy_id ?? ''
  return (
    <SidePanel title={`History of ${visibleText(name)}`} isOpen={account !== null} onClose={onClose}>
      {account !== null && <Periods account={account} />}
    </SidePanel>
  )
}

function Periods({ account: { policy_id, agent_id } }: { readonly account: BudgetAccount }) {
  const query = useQuery({
    queryKey: ['budgets', 'history', policy_id],
    queryFn: ({ signal }) => budgetHistory(policy_id, signal),
  })
  if (query.isPending) return <Loading what="the history" />
  if (query.data === undefined) return <ErrorNotice error={query.error} retry={query.refetch} />
  const periods = query.data.items.filter((past) => past.agent_id === agent_id)
  return (
    <Stack gap="md">
      {agent_id !== null && (
        <Text size="sm" className="quiet" style={{ overflowWrap: 'anywhere' }}>
          Of {agent_id}
        </Text>
      )}
      {!query.data.isComplete && (
        <Text size="sm" className="quiet">
          Only the latest {MOST_ACCOUNTS} accounts of the policy were read.
        </Text>
      )}
      {periods.length === 0 && (
        <Empty title="No past periods">This is the first period in which the budget is used.</Empty>
      )}
      <ul className={classes.past} aria-label="Past periods">
        {periods.map((past) => (
          <Past key={keyOf(past)} past={past} />
        ))}
      </ul>
    </Stack>
  )
}

function Past({ past }: { readonly past: BudgetAccount }) {
  const { period, starts_at, spent, limit, unit } = past
  const percent = usedPercent(past)
  const name = periodName(period, starts_at)
  return (
    <li>
      <div className={classes.name}>
        <span>{name[0]?.toUpperCase() + name.slice(1)}</span>
        <Text size="sm" className="quiet" component="span">
          <Amount amount={spent} unit={unit} /> of <Amount amount={limit} unit={unit} />, {percent} %
        </Text>
      </div>
      <BudgetBar limit={limit} used={spent} held={0} label={`${percent} % of ${amountText(limit, unit)} spent`} />
    </li>
  )
}

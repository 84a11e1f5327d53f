import type { BudgetAccount } from '@countersign/contract'
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { SearchIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { allBudgets, keyOf, MOST_ACCOUNTS, usedShare } from '../../api/budgets'
import { usePoliciesById } from '../../api/policy-names'
import { ErrorNotice, Notice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { isFound, unusedBudgets } from './account'
import { AccountRow } from './account-row'
import classes from './budgets.module.css'
import { HistoryPanel } from './history-panel'
import { UnusedRow } from './unused-row'

const SHOWN = 50
/** A fallback for when live events do not arrive. */
const REFRESH_MS = 30_000

/** Every budget, the one nearest to its limit first. */
export function BudgetsPage() {
  return (
    <Page
      title="Budgets"
      lead="What agents have spent and what is left. Every budget belongs to a policy."
      scopes={['budgets:read']}
    >
      <Accounts />
    </Page>
  )
}

function Accounts() {
  const policies = usePoliciesById()
  const query = useQuery({
    queryKey: ['budgets', 'all'],
    queryFn: ({ signal }) => allBudgets(signal),
    refetchInterval: REFRESH_MS,
  })
  const [search, setSearch] = useState('')
  const [shown, setShown] = useState(SHOWN)
  const [history, setHistory] = useState<BudgetAccount | null>(null)

  if (query.isPending) return <Loading what="budgets" />
  if (query.data === undefined) return <ErrorNotice error={query.error} retry={query.refetch} />
  const { items, isComplete } = query.data
  // When the list is incomplete, a budget without an account here may have one that was not read.
  const unused = isComplete ? unusedBudgets(policies?.values() ?? [], items, Date.now()) : []
  const all = items.length + unused.length
  if (all === 0) return <NoBudgets areKnown={policies !== null} />
  const rows = [
    ...items
      .filter((account) => isFound(account, policies?.get(account.policy_id)?.name, search))
      .sort((one, other) => usedShare(other) - usedShare(one))
      .map((account) => (
        <AccountRow
          key={keyOf(account)}
          account={account}
          policy={policies?.get(account.policy_id)}
          onHistory={() => setHistory(account)}
        />
      )),
    ...unused
      .filter(({ policy, budget: { unit } }) =>
        isFound({ policy_id: policy.id, agent_id: null, unit }, policy.name, search),
      )
      .map((one) => <UnusedRow key={one.policy.id} {...one} />),
  ]
  return (
    <Stack gap="sm">
      {query.isError && <ErrorNotice error={query.error} retry={query.refetch} />}
      {!isComplete && (
        <Notice kind="warning" title="There are more budgets than this page shows">
          These are the first {MOST_ACCOUNTS}. The page of each policy lists all of its budgets.
        </Notice>
      )}
      <TextInput
        label="Search by policy, agent or unit"
        leftSection={<SearchIcon size={16} />}
        maw={360}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <Text size="sm" className="quiet" role="status">
        {rows.length === all ? `${all} in all` : `${rows.length} of ${all}`}, nearest to the limit first
      </Text>
      {rows.length === 0 ? (
        <Empty title="No budgets match your search">
          <Button variant="default" onClick={() => setSearch('')}>
            Show all budgets
          </Button>
        </Empty>
      ) : (
        <ul className={classes.list} aria-label="Budgets">
          {rows.slice(0, shown)}
        </ul>
      )}
      {rows.length > shown && (
        <Button variant="default" onClick={() => setShown(shown + SHOWN)} style={{ alignSelf: 'center' }}>
          Show more ({rows.length - shown} not shown)
        </Button>
      )}
      <HistoryPanel account={history} onClose={() => setHistory(null)} />
    </Stack>
  )
}

/** @param areKnown whether the key can read policies, which show budgets that have no account yet */
function NoBudgets({ areKnown }: { readonly areKnown: boolean }) {
  return (
    <Empty title={areKnown ? 'No policy has a budget' : 'No budgets in use'}>
      A budget limits what agents may spend per day, per month or in total.{' '}
      <Anchor underline="always" renderRoot={(props) => <Link {...props} to="/policies/new" />}>
        Write a policy with a budget
      </Anchor>
    </Empty>
  )
}

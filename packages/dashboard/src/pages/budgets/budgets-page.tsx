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
import { isFound } from './account'
import { AccountRow } from './account-row'
import classes from './budgets.module.css'
import { HistoryPanel } from './history-panel'

const SHOWN = 50
/** Live events say what is new. This is for when there are none. */
const REFRESH_MS = 30_000

/** What every budget has left, the one nearest to its limit first. */
export function BudgetsPage() {
  return (
    <Page
      title="Budgets"
      lead="What agents have spent, and what is left. A budget belongs to a policy."
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
  if (items.length === 0) return <NoBudgets />
  const found = items
    .filter((account) => isFound(account, policies?.get(account.policy_id)?.name, search))
    .sort((one, other) => usedShare(other) - usedShare(one))
  return (
    <Stack gap="sm">
      {query.isError && <ErrorNotice error={query.error} retry={query.refetch} />}
      {!isComplete && (
        <Notice kind="warning" title="There are more budgets than this page reads">
          These are the first {MOST_ACCOUNTS}. The page of a policy has all of its own.
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
        {found.length === items.length ? `${items.length} in all` : `${found.length} of ${items.length}`}, nearest to
        the limit first
      </Text>
      {found.length === 0 ? (
        <Empty title="No budget matches the search">
          <Button variant="default" onClick={() => setSearch('')}>
            Show all budgets
          </Button>
        </Empty>
      ) : (
        <ul className={classes.list} aria-label="Budgets">
          {found.slice(0, shown).map((account) => (
            <AccountRow
              key={keyOf(account)}
              account={account}
              policy={policies?.get(account.policy_id)}
              onHistory={() => setHistory(account)}
            />
          ))}
        </ul>
      )}
      {found.length > shown && (
        <Button variant="default" onClick={() => setShown(shown + SHOWN)} style={{ alignSelf: 'center' }}>
          Show more ({found.length - shown} not shown)
        </Button>
      )}
      <HistoryPanel account={history} onClose={() => setHistory(null)} />
    </Stack>
  )
}

function NoBudgets() {
  return (
    <Empty title="No policy has a budget">
      A budget says how much agents may spend in a day, a month or in all.{' '}
      <Anchor underline="always" renderRoot={(props) => <Link {...props} to="/policies/new" />}>
        Write a policy with a budget
      </Anchor>
    </Empty>
  )
}

import type { Budget, Effect, Policy } from '@countersign/contract'
import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { PlusIcon, SearchIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { listPolicies } from '../../api/policies'
import { amountText } from '../../components/amount'
import { Badge } from '../../components/badges'
import { DataTable } from '../../components/data-table'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { Ago } from '../../components/time'
import { TwoLines } from '../../components/two-lines'
import { useMay } from '../../session'

const route = getRouteApi('/signed-in/policies')

const EFFECTS: readonly Effect[] = ['allow', 'review', 'deny', 'log']

const COLUMNS: ColumnDef<Policy>[] = [
  {
    id: 'name',
    header: 'Policy',
    size: 0,
    cell: ({ row: { original } }) => (
      <TwoLines
        first={
          <Anchor
            renderRoot={(props) => <Link {...props} to="/policies/$id" params={{ id: original.id }} data-row-link />}
          >
            {visibleText(original.name)}
          </Anchor>
        }
        second={original.agents === undefined ? 'every agent' : original.agents.join(', ')}
      />
    ),
  },
  { id: 'state', header: 'State', size: 76, cell: ({ row }) => <State policy={row.original} /> },
  { id: 'priority', header: 'Priority', size: 76, enableHiding: true, cell: ({ row }) => row.original.priority },
  {
    id: 'rules',
    header: 'Rules',
    size: 176,
    enableHiding: true,
    cell: ({ row: { original } }) => (
      <TwoLines first={countOf(original.rules.length, 'rule')} second={effectsOf(original)} />
    ),
  },
  {
    id: 'budget',
    header: 'Budget',
    size: 146,
    enableHiding: true,
    cell: ({ row: { original } }) =>
      original.budget === undefined ? <None /> : <BudgetText budget={original.budget} />,
  },
  {
    id: 'warnings',
    header: 'Warnings',
    size: 72,
    enableHiding: true,
    cell: ({ row: { original } }) =>
      original.warnings.length === 0 ? <None /> : <Badge tone="review">{String(original.warnings.length)}</Badge>,
  },
  {
    id: 'updated',
    header: 'Updated',
    size: 126,
    enableHiding: true,
    cell: ({ row }) => <Ago at={row.original.updated_at} />,
  },
]

/** Every policy, in the order of evaluation. */
export function PoliciesPage() {
  const mayWrite = useMay()('policies:write')
  return (
    <Page
      title="Policies"
      lead="The highest priority decides. Among equal priorities, the most restrictive effect wins."
      scopes={['policies:read']}
      actions={
        mayWrite && (
          <Button leftSection={<PlusIcon size={16} />} renderRoot={(props) => <Link {...props} to="/policies/new" />}>
            New policy
          </Button>
        )
      }
    >
      <PolicyList mayWrite={mayWrite} />
    </Page>
  )
}

function PolicyList({ mayWrite }: { readonly mayWrite: boolean }) {
  const navigate = route.useNavigate()
  // The field cannot show the value of the URL, which changes only after each key.
  const [q, setTyped] = useState(route.useSearch().q ?? '')
  const search = (text: string) => {
    setTyped(text)
    void navigate({ search: { q: text }, replace: true })
  }
  const policies = useQuery({ queryKey: ['policies'], queryFn: ({ signal }) => listPolicies(signal) })
  if (policies.isPending) return <Loading what="policies" />
  if (policies.isError) return <ErrorNotice error={policies.error} retry={policies.refetch} />
  const rows = policies.data.filter((policy) => isFound(policy, q)).sort(byPriority)
  if (policies.data.length === 0)
    return (
      <Empty title="No policies yet: every request is denied">
        {mayWrite ? (
          <Anchor renderRoot={(props) => <Link {...props} to="/policies/new" />}>Create the first policy</Anchor>
        ) : (
          'You need a key with the scope policies:write to create one.'
        )}
      </Empty>
    )
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <TextInput
          aria-label="Search"
          placeholder="Name, agent, action or resource"
          leftSection={<SearchIcon size={16} />}
          w={300}
          maw="100%"
          value={q}
          onChange={(event) => search(event.currentTarget.value)}
        />
        <Text size="sm" className="quiet" role="status">
          {q === '' ? countOf(rows.length, 'policy', 'policies') : `${rows.length} of ${policies.data.length}`}
        </Text>
      </Group>
      {rows.length === 0 ? (
        <Empty title="No matching policies">
          <Button variant="default" onClick={() => search('')}>
            Show all
          </Button>
        </Empty>
      ) : (
        <DataTable label="Policies" columns={COLUMNS} rows={rows} />
      )}
    </Stack>
  )
}

function State({ policy: { enabled, mode } }: { readonly policy: Policy }) {
  if (!enabled) return <Badge tone="quiet">disabled</Badge>
  return mode === 'shadow' ? <Badge tone="log">shadow</Badge> : <Badge tone="allow">enabled</Badge>
}

function BudgetText({ budget: { limit, unit, period, scope } }: { readonly budget: Budget }) {
  return <TwoLines first={amountText(limit, unit)} second={period + (scope === 'agent' ? ', each agent' : '')} />
}

function None() {
  return <span className="quiet">none</span>
}

/** Writes `1 allow, 2 deny`. */
function effectsOf({ rules }: Policy): string {
  const counts = EFFECTS.map((effect) => [effect, rules.filter((rule) => rule.effect === effect).length] as const)
  return counts.flatMap(([effect, count]) => (count === 0 ? [] : [`${count} ${effect}`])).join(', ')
}

function countOf(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`
}

function byPriority(one: Policy, other: Policy): number {
  return other.priority - one.priority || one.name.localeCompare(other.name)
}

function isFound({ id, name, agents = [], rules }: Policy, search: string): boolean {
  const texts = [id, name, ...agents, ...rules.flatMap(({ action, resource = '' }) => [action, resource])]
  const wanted = search.trim().toLowerCase()
  return texts.some((text) => text.toLowerCase().includes(wanted))
}

import type { BudgetAccount, Stats, StatsInterval } from '@countersign/contract'
import { Anchor, Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { allBudgets, keyOf, usedPercent, usedShare } from '../../api/budgets'
import { usePoliciesById } from '../../api/policy-names'
import { getStats } from '../../api/stats'
import { Amount } from '../../components/amount'
import { BudgetBar, NEAR_LIMIT } from '../../components/budget-bar'
import { lazily } from '../../components/lazily'
import { ErrorNotice } from '../../components/notice'
import { PolicyLink } from '../../components/object-links'
import { Empty, Loading, Page } from '../../components/page'
import { Panel } from '../../components/panel'
import { useMay, useSession } from '../../session'
import { firstPage } from '../../shell/navigation'
import { useWaitingReviews } from '../../shell/waiting-reviews'
import classes from './overview.module.css'

const EffectChart = lazily('EffectChart', async () => (await import('./effect-chart')).EffectChart)

const route = getRouteApi('/signed-in/')

const SPANS = {
  hour: { label: '1 hour', interval: 'minute' },
  day: { label: '24 hours', interval: 'hour' },
  month: { label: '30 days', interval: 'day' },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly interval: StatsInterval }>>
type Span = keyof typeof SPANS

const TOP_ACTIONS = 8
const MOST_NEAR = 8

/** What happens now, and what needs attention. */
export function OverviewPage() {
  const { span: given } = route.useSearch()
  const navigate = route.useNavigate()
  const span: Span = given !== undefined && given in SPANS ? (given as Span) : 'day'
  const { interval } = SPANS[span]
  const may = useMay()
  const isAllowed = may('decisions:read')
  // The server gives no counts of actions to a key that is bound to agents.
  const seesActions = useSession().key.agents === null
  const stats = useQuery({
    queryKey: ['stats', interval],
    queryFn: () => getStats({ interval }),
    enabled: isAllowed,
    refetchInterval: 30_000,
  })
  const byAction = useQuery({
    queryKey: ['stats', interval, 'action'],
    queryFn: () => getStats({ interval, group: 'action' }),
    enabled: isAllowed && seesActions,
    refetchInterval: 30_000,
  })
  if (!isAllowed) return <Navigate to={firstPage(may)} replace />
  return (
    <Page
      title="Overview"
      scopes={['decisions:read']}
      actions={
        <SegmentedControl
          aria-label="Time span"
          value={span}
          onChange={(value) => void navigate({ search: { span: value }, replace: true })}
          data={Object.entries(SPANS).map(([value, { label }]) => ({ value, label }))}
          transitionDuration={0}
        />
      }
    >
      {stats.isError && <ErrorNotice error={stats.error} retry={stats.refetch} />}
      {stats.isPending && <Loading what="statistics" />}
      {stats.data !== undefined && (
        <Stack gap="md">
          <Figures stats={stats.data} />
          <Panel title="Decisions by effect">
            {stats.data.total.decisions === 0 ? (
              <Empty title="No decisions in this period">
                <Anchor renderRoot={(props) => <Link {...props} to="/get-started" />}>Connect an agent</Anchor>
              </Empty>
            ) : (
              <EffectChart stats={stats.data} />
            )}
            {stats.data.incomplete && (
              <Text size="sm" className="quiet">
                {stats.data.uncounted_entries
                  ? `${stats.data.uncounted_entries} entries of the audit log are not counted yet.`
                  : 'Some decisions are not included here.'}
              </Text>
            )}
          </Panel>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <BudgetsNearLimit />
            {seesActions && (
              <Panel title="Most denied actions">
                {byAction.isError && <ErrorNotice error={byAction.error} retry={byAction.refetch} />}
                {byAction.data !== undefined && <DeniedActions stats={byAction.data} />}
              </Panel>
            )}
          </SimpleGrid>
        </Stack>
      )}
    </Page>
  )
}

function Figures({ stats: { total } }: { readonly stats: Stats }) {
  const waiting = useWaitingReviews()
  const { latency_ms: latency, effects, decisions } = total
  const share = (count: number) => (decisions === 0 ? '' : ` ${Math.round((100 * count) / decisions)} %`)
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
      <Figure label="Decisions" value={String(decisions)} />
      <Figure label="Allowed" value={String(effects.allow + effects.log)} note={share(effects.allow + effects.log)} />
      <Figure label="Denied" value={String(effects.deny)} note={share(effects.deny)} />
      <Figure
        label="Pending reviews"
        value={waiting === undefined ? '–' : (waiting ?? '0')}
        note={
          typeof waiting === 'string' && (
            <Anchor renderRoot={(props) => <Link {...props} to="/reviews" />}>Review them</Anchor>
          )
        }
      />
      <Figure
        label="Evaluation (p99)"
        value={latency === null ? '–' : milliseconds(latency.p99)}
        note={latency !== null && `p50 ${milliseconds(latency.p50)}`}
      />
    </SimpleGrid>
  )
}

/** Three digits are enough, and fit a narrow figure. */
const milliseconds = (value: number): string => `${Number(value.toPrecision(3))} ms`

function Figure(props: { readonly label: string; readonly value: string; readonly note?: React.ReactNode }) {
  return (
    <div className={classes.figure}>
      <div className="quiet">{props.label}</div>
      <div className={classes.value}>{props.value}</div>
      <div className="quiet">{props.note}</div>
    </div>
  )
}

function BudgetsNearLimit() {
  const may = useMay()('budgets:read')
  const budgets = useQuery({ queryKey: ['budgets', 'all'], queryFn: ({ signal }) => allBudgets(signal), enabled: may })
  const policies = usePoliciesById()
  if (!may) return null
  const near = (budgets.data?.items ?? []).filter((account) => usedShare(account) >= NEAR_LIMIT)
  return (
    <Panel
      title="Budgets over 80 %"
      aside={<Anchor renderRoot={(props) => <Link {...props} to="/budgets" />}>All</Anchor>}
    >
      {budgets.isError && <ErrorNotice error={budgets.error} retry={budgets.refetch} />}
      {budgets.data !== undefined && near.length === 0 && <Text className="quiet">None.</Text>}
      <Stack gap="sm">
        {near.slice(0, MOST_NEAR).map((account) => (
          <NearBudget key={keyOf(account)} account={account} name={policies?.get(account.policy_id)?.name} />
        ))}
      </Stack>
      {near.length > MOST_NEAR && <Text className="quiet">and {near.length - MOST_NEAR} more</Text>}
    </Panel>
  )
}

interface NearBudgetProps {
  readonly account: BudgetAccount
  readonly name: string | undefined
}

function NearBudget({ account, name }: NearBudgetProps) {
  const { policy_id, agent_id, unit, spent, reserved, limit, remaining, period } = account
  return (
    <div>
      <Group justify="space-between" gap="xs" mb={4}>
        <span>
          <PolicyLink id={policy_id} name={name} /> {agent_id !== null && `for ${agent_id}`}
        </span>
        <Text size="sm" className="quiet">
          <Amount amount={remaining} unit={unit} /> left of <Amount amount={limit} unit={unit} />, {period}
        </Text>
      </Group>
      <BudgetBar limit={limit} used={spent} held={reserved} label={`${usedPercent(account)} % used`} />
    </div>
  )
}

function DeniedActions({ stats }: { readonly stats: Stats }) {
  const denied = new Map<string, number>()
  for (const { value, effects } of stats.data)
    if (value !== null && effects.deny > 0) denied.set(value, (denied.get(value) ?? 0) + effects.deny)
  const top = [...denied].sort(([, one], [, other]) => other - one).slice(0, TOP_ACTIONS)
  if (top.length === 0) return <Text className="quiet">Nothing was denied in this period.</Text>
  return (
    <table className={classes.top} aria-label="Most denied actions">
      <thead>
        <tr>
          <th scope="col">Action</th>
          <th scope="col">Denied</th>
        </tr>
      </thead>
      <tbody>
        {top.map(([action, count]) => (
          <tr key={action}>
            <td>
              <Anchor renderRoot={(props) => <Link {...props} to="/decisions" search={{ action, effect: 'deny' }} />}>
                {action}
              </Anchor>
            </td>
            <td>{count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

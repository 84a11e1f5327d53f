import type { DecisionDetail, Effect, Stats } from '@countersign/contract'
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { getStats } from '../../api/stats'
import { EffectBadge, StatusBadge } from '../../components/badges'
import { DataTable } from '../../components/data-table'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { WHEN_WIDTH, WhenCell } from '../../components/when-cell'
import { countsOf } from './counts'
import { useLatestDecisions } from './latest-decisions'

const SHOWN = 10
const EFFECTS: readonly Effect[] = ['allow', 'log', 'review', 'deny']

const COLUMNS: ColumnDef<DecisionDetail>[] = [
  {
    id: 'when',
    header: 'When',
    size: WHEN_WIDTH,
    enableHiding: true,
    cell: ({ row }) => <WhenCell at={row.original.evaluated_at} />,
  },
  { id: 'effect', header: 'Effect', size: 66, cell: ({ row }) => <EffectBadge effect={row.original.effect} /> },
  {
    id: 'what',
    header: 'Action',
    size: 0,
    cell: ({ row: { original } }) => (
      <Anchor
        renderRoot={(props) => <Link {...props} to="/decisions/$id" params={{ id: original.id }} data-row-link />}
      >
        {visibleText(original.action)}
      </Anchor>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    size: 150,
    enableHiding: true,
    cell: ({ row }) => <StatusBadge status={row.original.status} />,
  },
  {
    id: 'resource',
    header: 'Resource',
    size: 0,
    enableHiding: true,
    cell: ({ row }) => visibleText(row.original.resource ?? ''),
  },
]

/** The latest decisions about an agent, and their counts by effect. */
export function Activity({ id }: { readonly id: string }) {
  const stats = useQuery({
    queryKey: ['stats', 'hour', 'agent'],
    queryFn: () => getStats({ interval: 'hour', group: 'agent' }),
    refetchInterval: 30_000,
  })
  const latest = useLatestDecisions(id)
  return (
    <Panel
      title="Activity"
      aside={
        <Anchor renderRoot={(props) => <Link {...props} to="/decisions" search={{ agent_id: id }} />}>
          View all decisions
        </Anchor>
      }
    >
      <Stack gap="md">
        {stats.isError && <ErrorNotice error={stats.error} retry={stats.refetch} />}
        {stats.data !== undefined && <Counts stats={stats.data} id={id} />}
        {latest.isError && <ErrorNotice error={latest.error} retry={latest.refetch} />}
        {latest.isPending && <Loading what="decisions" />}
        {latest.data?.length === 0 && <Text className="quiet">No requests yet.</Text>}
        {latest.data !== undefined && latest.data.length > 0 && (
          <DataTable label="Latest decisions" columns={COLUMNS} rows={latest.data.slice(0, SHOWN)} />
        )}
      </Stack>
    </Panel>
  )
}

function Counts({ stats, id }: { readonly stats: Stats; readonly id: string }) {
  const counts = countsOf(stats, id)
  if (counts === null)
    return (
      <Text className="quiet">
        Many agents were active in the last 24 hours, and this one is not among those counted separately.
      </Text>
    )
  return (
    <Group gap="lg" role="group" aria-label="Decisions in the last 24 hours">
      <Text>Last 24 hours:</Text>
      {EFFECTS.map((effect) => (
        <Group key={effect} gap={6}>
          <Text fw={650}>{counts[effect]}</Text>
          <EffectBadge effect={effect} />
        </Group>
      ))}
    </Group>
  )
}

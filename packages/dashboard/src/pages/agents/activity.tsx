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
import { At } from '../../components/time'
import { countsOf } from './counts'
import { useLatestDecisions } from './latest-decisions'

const SHOWN = 10
const EFFECTS: readonly Effect[] = ['allow', 'log', 'review', 'deny']

const COLUMNS: ColumnDef<DecisionDetail>[] = [
  { id: 'effect', header: 'Effect', size: 88, cell: ({ row }) => <EffectBadge effect={row.original.effect} /> },
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
  { id: 'wide-resource', header: 'Resource', size: 220, cell: ({ row }) => visibleText(row.original.resource ?? '') },
  { id: 'wide-status', header: 'Status', size: 146, cell: ({ row }) => <StatusBadge status={row.original.status} /> },
  { id: 'wide-when', header: 'When', size: 178, cell: ({ row }) => <At at={row.original.evaluated_at} /> },
]

/** What an agent asked for lately, and what it was answered. */
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
          All its decisions
        </Anchor>
      }
    >
      <Stack gap="md">
        {stats.isError && <ErrorNotice error={stats.error} retry={stats.refetch} />}
        {stats.data !== undefined && <Counts stats={stats.data} id={id} />}
        {latest.isError && <ErrorNotice error={latest.error} retry={latest.refetch} />}
        {latest.isPending && <Loading what="decisions" />}
        {latest.data?.length === 0 && <Text className="quiet">It has asked for nothing yet.</Text>}
        {latest.data !== undefined && latest.data.length > 0 && (
          <DataTable
            label="Latest decisions"
            columns={COLUMNS}
            rows={latest.data.slice(0, SHOWN)}
            idOf={(decision) => decision.id}
            rowHeight={40}
          />
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
        Many agents asked in the last 24 hours. This one is not among those that are counted by themselves.
      </Text>
    )
  return (
    <Group gap="lg" role="group" aria-label="Decisions of the last 24 hours">
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

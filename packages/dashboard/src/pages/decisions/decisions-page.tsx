import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { PauseIcon, PlayIcon } from '@primer/octicons-react'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { AskedCell } from '../../components/asked-cell'
import { EffectBadge, StatusBadge } from '../../components/badges'
import { DataTable } from '../../components/data-table'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { At } from '../../components/time'
import { TwoLines } from '../../components/two-lines'
import { useLive } from '../../live'
import { DecisionFilters } from './decision-filters'
import { ExportMenu } from './export-menu'
import { type DecisionRow, MOST_ARRIVED, useLiveList } from './live-list'

const route = getRouteApi('/signed-in/decisions')

const COLUMNS: ColumnDef<DecisionRow>[] = [
  {
    id: 'when',
    header: 'When',
    size: 178,
    cell: ({ row }) => <At at={row.original.evaluated_at} />,
  },
  { id: 'effect', header: 'Effect', size: 88, cell: ({ row }) => <EffectBadge effect={row.original.effect} /> },
  {
    id: 'what',
    header: 'Action and agent',
    size: 0,
    cell: ({ row }) => <AskedCell decision={row.original} />,
  },
  {
    id: 'wide-status',
    header: 'Status',
    size: 146,
    cell: ({ row }) => <StatusBadge status={row.original.status} />,
  },
  {
    id: 'wide-why',
    header: 'Why',
    size: 330,
    cell: ({ row: { original } }) => (
      <TwoLines first={original.reason ?? 'A rule allows it.'} second={original.reason_code} />
    ),
  },
]

/** Every decision, newest first, as it happens. The filters stand in the URL. */
export function DecisionsPage() {
  const filters = route.useSearch()
  const navigate = route.useNavigate()
  const [isPaused, setPaused] = useState(false)
  const { isConnected } = useLive()
  const isFiltered = Object.keys(filters).length > 0
  const list = useLiveList(filters, isPaused)
  const { rows, waiting, query } = list
  return (
    <Page
      title="Decisions"
      lead="What agents asked, and what was answered."
      scopes={['decisions:read']}
      actions={
        <>
          <Button
            variant="default"
            leftSection={isPaused ? <PlayIcon size={16} /> : <PauseIcon size={16} />}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? `Go on${waitingText(waiting)}` : 'Pause'}
          </Button>
          <ExportMenu filters={filters} />
        </>
      }
    >
      <Stack gap="sm">
        <DecisionFilters filters={filters} onChange={(search) => void navigate({ search, replace: true })} />
        <Group gap="xs">
          <Text size="sm" className="quiet" role="status">
            {isPaused ? 'Paused' : isConnected ? 'Live' : 'Not connected: new decisions do not appear by themselves'}
          </Text>
        </Group>
        {query.error !== null && <ErrorNotice error={query.error} retry={query.refetch} />}
        {query.isPending ? (
          <Loading what="decisions" />
        ) : rows.length === 0 && query.error === null ? (
          isFiltered ? (
            <Empty title="No decision matches the filters">
              <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
                Remove the filters
              </Button>
            </Empty>
          ) : (
            <Empty title="No agent has asked yet">
              <Anchor renderRoot={(props) => <Link {...props} to="/get-started" />}>Ask for the first decision</Anchor>
            </Empty>
          )
        ) : (
          <DataTable
            label="Decisions"
            columns={COLUMNS}
            rows={rows}
            idOf={({ id }) => id}
            loadMore={list.loadMore}
            isLoadingMore={list.isLoadingMore}
          />
        )}
      </Stack>
    </Page>
  )
}

function waitingText(waiting: number): string {
  if (waiting === 0) return ''
  return ` (${waiting > MOST_ARRIVED ? `more than ${MOST_ARRIVED}` : waiting} new)`
}

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
import { TwoLines } from '../../components/two-lines'
import { WHEN_WIDTH, WhenCell } from '../../components/when-cell'
import { useLive } from '../../live'
import { DecisionFilters } from './decision-filters'
import { ExportMenu } from './export-menu'
import { type DecisionRow, MOST_ARRIVED, useLiveList } from './live-list'

const route = getRouteApi('/signed-in/decisions')

const COLUMNS: ColumnDef<DecisionRow>[] = [
  {
    id: 'when',
    header: 'When',
    size: WHEN_WIDTH,
    cell: ({ row }) => <WhenCell at={row.original.evaluated_at} />,
  },
  { id: 'effect', header: 'Effect', size: 66, cell: ({ row }) => <EffectBadge effect={row.original.effect} /> },
  {
    id: 'what',
    header: 'Action and agent',
    size: 0,
    cell: ({ row }) => <AskedCell decision={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    size: 150,
    enableHiding: true,
    cell: ({ row }) => <StatusBadge status={row.original.status} />,
  },
  {
    id: 'why',
    header: 'Why',
    size: 0,
    minSize: 150,
    enableHiding: true,
    cell: ({ row: { original } }) => (
      <TwoLines first={original.reason ?? 'A rule allows it.'} second={original.reason_code} />
    ),
  },
]

/** Every decision, newest first, updated live. The filters are in the URL. */
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
      lead="What agents requested, and the result."
      scopes={['decisions:read']}
      actions={
        <>
          <Button
            variant="default"
            leftSection={isPaused ? <PlayIcon size={16} /> : <PauseIcon size={16} />}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? `Resume${waitingText(waiting)}` : 'Pause'}
          </Button>
          <ExportMenu filters={filters} />
        </>
      }
    >
      <Stack gap="sm">
        <DecisionFilters filters={filters} onChange={(search) => void navigate({ search, replace: true })} />
        <Group gap="xs">
          <Text size="sm" className="quiet" role="status">
            {isPaused ? 'Paused' : isConnected ? 'Live' : 'Not connected: new decisions do not appear automatically'}
          </Text>
        </Group>
        {query.error !== null && <ErrorNotice error={query.error} retry={query.refetch} />}
        {query.isPending ? (
          <Loading what="decisions" />
        ) : rows.length === 0 && query.error === null ? (
          isFiltered ? (
            <Empty title="No decisions match the filters">
              <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
                Clear filters
              </Button>
            </Empty>
          ) : (
            <Empty title="No requests from agents yet">
              <Anchor renderRoot={(props) => <Link {...props} to="/get-started" />}>Request your first decision</Anchor>
            </Empty>
          )
        ) : (
          <DataTable label="Decisions" columns={COLUMNS} rows={rows} more={list} />
        )}
      </Stack>
    </Page>
  )
}

function waitingText(waiting: number): string {
  if (waiting === 0) return ''
  return ` (${waiting > MOST_ARRIVED ? `more than ${MOST_ARRIVED}` : waiting} new)`
}

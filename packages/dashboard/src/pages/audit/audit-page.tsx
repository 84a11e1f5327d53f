import type { AuditEntry } from '@countersign/contract'
import { Anchor, Button, Stack } from '@mantine/core'
import { MilestoneIcon, ShieldCheckIcon, SyncIcon } from '@primer/octicons-react'
import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { listAudit } from '../../api/audit'
import { usePages } from '../../api/use-pages'
import { DataTable } from '../../components/data-table'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { TwoLines } from '../../components/two-lines'
import { WHEN_WIDTH, WhenCell } from '../../components/when-cell'
import { AuditFilters } from './audit-filters'
import { CheckPermitDrawer } from './check-permit-drawer'
import { CheckpointsDrawer } from './checkpoints-drawer'
import { EntryDrawer } from './entry-drawer'

const route = getRouteApi('/signed-in/audit')

const PAGE_SIZE = 100

/** The audit log, newest first, with tools that check a permit and the log itself. */
export function AuditPage() {
  const filters = route.useSearch()
  const navigate = route.useNavigate()
  const client = useQueryClient()
  const [entry, setEntry] = useState<AuditEntry | null>(null)
  const [isChecking, setChecking] = useState(false)
  const [isShowingCheckpoints, setShowingCheckpoints] = useState(false)
  const queryKey = ['audit', filters]
  const list = usePages({
    scope: 'audit:read',
    queryKey,
    read: (cursor, signal) => listAudit({ ...filters, limit: PAGE_SIZE, cursor }, signal),
  })
  const { rows, isPending, isRefetching, error, refetch } = list
  const columns = useMemo(() => columnsOf(setEntry), [])
  return (
    <Page
      title="Audit"
      lead="Every decision and every change, with who made it. Entries cannot be changed."
      scopes={['audit:read']}
      actions={
        <>
          <Button
            variant="default"
            leftSection={<SyncIcon size={16} />}
            loading={isRefetching}
            onClick={() => void client.resetQueries({ queryKey })}
          >
            Refresh
          </Button>
          <Button variant="default" leftSection={<ShieldCheckIcon size={16} />} onClick={() => setChecking(true)}>
            Check a permit
          </Button>
          <Button
            variant="default"
            leftSection={<MilestoneIcon size={16} />}
            onClick={() => setShowingCheckpoints(true)}
          >
            Checkpoints
          </Button>
        </>
      }
    >
      <Stack gap="sm">
        <AuditFilters filters={filters} onChange={(search) => void navigate({ search, replace: true })} />
        {error !== null && <ErrorNotice error={error} retry={refetch} />}
        {isPending ? (
          <Loading what="the audit log" />
        ) : rows.length > 0 ? (
          <DataTable label="Audit log" columns={columns} rows={rows} more={list} />
        ) : error !== null ? null : Object.keys(filters).length > 0 ? (
          <Empty title="No entries match the filters">
            <Button variant="default" onClick={() => void navigate({ search: {}, replace: true })}>
              Clear filters
            </Button>
          </Empty>
        ) : (
          <Empty title="The audit log is empty">
            <Anchor renderRoot={(props) => <Link {...props} to="/get-started" />}>Request your first decision</Anchor>
          </Empty>
        )}
      </Stack>
      <EntryDrawer entry={entry} onClose={() => setEntry(null)} />
      <CheckPermitDrawer isOpen={isChecking} onClose={() => setChecking(false)} />
      <CheckpointsDrawer isOpen={isShowingCheckpoints} onClose={() => setShowingCheckpoints(false)} />
    </Page>
  )
}

function columnsOf(open: (entry: AuditEntry) => void): ColumnDef<AuditEntry>[] {
  return [
    { id: 'when', header: 'When', size: WHEN_WIDTH, cell: ({ row }) => <WhenCell at={row.original.at} /> },
    {
      id: 'what',
      header: 'What',
      size: 0,
      cell: ({ row: { original } }) => (
        <TwoLines
          first={
            <Anchor component="button" type="button" data-row-link onClick={() => open(original)}>
              {original.type}
            </Anchor>
          }
          second={original.subject}
        />
      ),
    },
    {
      id: 'agent',
      header: 'Agent',
      size: 176,
      enableHiding: true,
      cell: ({ row: { original } }) => visibleText(original.agent_id ?? ''),
    },
    {
      id: 'who',
      header: 'Actor',
      size: 266,
      enableHiding: true,
      cell: ({ row }) => row.original.actor ?? 'the server',
    },
    {
      id: 'where',
      header: 'Index and log',
      size: 106,
      enableHiding: true,
      cell: ({ row: { original } }) => <TwoLines first={String(original.index)} second={original.log} />,
    },
  ]
}

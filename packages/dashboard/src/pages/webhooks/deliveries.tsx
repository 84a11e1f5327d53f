import type { Delivery, DeliveryStatus, Webhook } from '@countersign/contract'
import { Anchor, SegmentedControl, Stack } from '@mantine/core'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import { usePages } from '../../api/use-pages'
import { listDeliveries } from '../../api/webhooks'
import { DataTable } from '../../components/data-table'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { Ago } from '../../components/time'
import { TwoLines } from '../../components/two-lines'
import { DeliveryDrawer } from './delivery-drawer'
import { NextAttempt } from './next-attempt'
import { DeliveryBadge } from './webhook-state'

const REFRESH_MS = 3_000

const FILTERS: Readonly<Record<DeliveryStatus | 'all', string>> = {
  all: 'All',
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
}
type Filter = keyof typeof FILTERS

/** Every delivery to a webhook. */
export function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const { id, enabled } = webhook
  const [filter, setFilter] = useState<Filter>('all')
  const [opened, setOpened] = useState<Delivery | null>(null)
  const status = filter === 'all' ? undefined : filter
  const list = usePages({
    scope: 'webhooks:read',
    queryKey: ['webhooks', id, 'deliveries', filter],
    read: (cursor, signal) => listDeliveries(id, { status, cursor }, signal),
    refreshMs: REFRESH_MS,
  })
  const columns = useMemo(() => columnsOf(enabled, setOpened), [enabled])
  // The list has newer data than the clicked row. A retried delivery may have left the list.
  const shown = list.rows.find((delivery) => delivery.id === opened?.id) ?? opened
  return (
    <Panel
      title="Deliveries"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Status"
          value={filter}
          onChange={(value) => setFilter(value as Filter)}
          data={Object.entries(FILTERS).map(([value, label]) => ({ value, label }))}
          transitionDuration={0}
        />
      }
    >
      <Stack gap="sm">
        {list.error !== null && <ErrorNotice error={list.error} retry={list.refetch} />}
        {list.isPending && <Loading what="deliveries" />}
        {!list.isPending && list.error === null && list.rows.length === 0 && (
          <Empty title={filter === 'all' ? 'Nothing was sent yet' : `No delivery is ${filter}`}>
            {filter === 'all' &&
              (enabled ? 'Send a test event to check that your endpoint responds.' : 'Enable the webhook first.')}
          </Empty>
        )}
        {list.rows.length > 0 && (
          <DataTable label="List of deliveries" columns={columns} rows={list.rows} more={list} />
        )}
      </Stack>
      <DeliveryDrawer webhook={webhook} delivery={shown} onClose={() => setOpened(null)} onRetried={setOpened} />
    </Panel>
  )
}

function columnsOf(isEnabled: boolean, onOpen: (delivery: Delivery) => void): ColumnDef<Delivery>[] {
  return [
    {
      id: 'type',
      header: 'Event',
      size: 0,
      cell: ({ row: { original } }) => (
        <TwoLines
          first={
            <Anchor component="button" type="button" data-row-link onClick={() => onOpen(original)}>
              {original.type}
            </Anchor>
          }
          second={original.subject}
        />
      ),
    },
    { id: 'status', header: 'Status', size: 84, cell: ({ row }) => <DeliveryBadge status={row.original.status} /> },
    { id: 'attempts', header: 'Attempts', size: 68, enableHiding: true, cell: ({ row }) => row.original.attempt_count },
    {
      id: 'next',
      header: 'Next attempt',
      size: 126,
      enableHiding: true,
      cell: ({ row }) => <NextAttempt delivery={row.original} isEnabled={isEnabled} />,
    },
    {
      id: 'when',
      header: 'Happened',
      size: 126,
      enableHiding: true,
      cell: ({ row }) => <Ago at={row.original.event_at} />,
    },
  ]
}

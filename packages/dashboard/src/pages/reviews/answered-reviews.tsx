import type { DecisionDetail, Review } from '@countersign/contract'
import { SegmentedControl, Stack } from '@mantine/core'
import type { ColumnDef } from '@tanstack/react-table'
import { useState } from 'react'
import { reviewed } from '../../api/reviews'
import { usePages } from '../../api/use-pages'
import { AskedCell } from '../../components/asked-cell'
import { Badge } from '../../components/badges'
import { DataTable } from '../../components/data-table'
import { KeyName } from '../../components/key-name'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading } from '../../components/page'
import { TwoLines } from '../../components/two-lines'
import { WHEN_WIDTH, WhenCell } from '../../components/when-cell'

const FILTERS = {
  answered: { label: 'Approved and declined', statuses: ['approved', 'declined'] },
  approved: { label: 'Approved', statuses: ['approved'] },
  declined: { label: 'Declined', statuses: ['declined'] },
  unanswered: { label: 'No response', statuses: ['expired', 'withdrawn'] },
} as const satisfies Readonly<
  Record<string, { readonly label: string; readonly statuses: readonly Review['status'][] }>
>
type Filter = keyof typeof FILTERS

const TONES = { approved: 'allow', declined: 'deny', expired: 'quiet', withdrawn: 'quiet', waiting: 'review' } as const

const COLUMNS: ColumnDef<DecisionDetail>[] = [
  {
    id: 'answer',
    header: 'Answer',
    size: 102,
    cell: ({ row: { original } }) => {
      const status = original.review?.status ?? 'waiting'
      return <Badge tone={TONES[status]}>{status}</Badge>
    },
  },
  {
    id: 'what',
    header: 'Action and agent',
    size: 0,
    cell: ({ row }) => <AskedCell decision={row.original} />,
  },
  {
    id: 'asked',
    header: 'Requested',
    size: WHEN_WIDTH,
    enableHiding: true,
    cell: ({ row }) => <WhenCell at={row.original.evaluated_at} />,
  },
  {
    id: 'answered',
    header: 'Answered',
    size: WHEN_WIDTH,
    enableHiding: true,
    cell: ({ row: { original } }) => {
      const at = original.review?.decided_at ?? null
      return at === null ? '–' : <WhenCell at={at} />
    },
  },
  {
    id: 'note',
    header: 'Note and key',
    size: 0,
    enableHiding: true,
    cell: ({ row: { original } }) => (
      <TwoLines first={original.review?.comment || '–'} second={<By review={original.review} />} />
    ),
  },
]

function By({ review }: { readonly review: Review | null }) {
  if (review?.decided_by == null) return null
  return (
    <>
      <KeyName id={review.decided_by} />
      {review.self_approved === true && ', also the asker’s'}
    </>
  )
}

/** Completed reviews, the newest request first. */
export function AnsweredReviews() {
  const [filter, setFilter] = useState<Filter>('answered')
  const pages = usePages({
    scope: 'decisions:read',
    queryKey: ['reviews', 'answered', filter],
    read: (cursor, signal) => reviewed({ ...(filter === 'declined' && { status: filter }), cursor }, signal),
  })
  const statuses: readonly Review['status'][] = FILTERS[filter].statuses
  const rows = pages.rows.filter(({ review }) => review !== null && statuses.includes(review.status))
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label="Filter by result"
        value={filter}
        onChange={(value) => setFilter(value as Filter)}
        data={Object.entries(FILTERS).map(([value, { label }]) => ({ value, label }))}
        transitionDuration={0}
        // A phone is too narrow for one line.
        style={{ alignSelf: 'flex-start', flexWrap: 'wrap' }}
      />
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.refetch} />}
      {pages.isPending ? (
        <Loading what="reviews" />
      ) : rows.length === 0 && pages.loadMore === null ? (
        pages.error === null && (
          <Empty title="No completed reviews yet">Reviews appear here once they are approved or declined.</Empty>
        )
      ) : (
        <DataTable label="Completed reviews" columns={COLUMNS} rows={rows} more={pages} />
      )}
    </Stack>
  )
}

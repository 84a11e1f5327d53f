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
import { At } from '../../components/time'
import { TwoLines } from '../../components/two-lines'

const FILTERS = {
  answered: { label: 'Approved and declined', statuses: ['approved', 'declined'] },
  approved: { label: 'Approved', statuses: ['approved'] },
  declined: { label: 'Declined', statuses: ['declined'] },
  unanswered: { label: 'Not answered', statuses: ['expired', 'withdrawn'] },
} as const satisfies Readonly<
  Record<string, { readonly label: string; readonly statuses: readonly Review['status'][] }>
>
type Filter = keyof typeof FILTERS

const TONES = { approved: 'allow', declined: 'deny', expired: 'quiet', withdrawn: 'quiet', waiting: 'review' } as const

const COLUMNS: ColumnDef<DecisionDetail>[] = [
  {
    id: 'answer',
    header: 'Answer',
    size: 112,
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
    id: 'wide-asked',
    header: 'Asked',
    size: 178,
    cell: ({ row }) => <At at={row.original.evaluated_at} />,
  },
  {
    id: 'wide-answered',
    header: 'Answered',
    size: 178,
    cell: ({ row: { original } }) => {
      const at = original.review?.decided_at ?? null
      return at === null ? '–' : <At at={at} />
    },
  },
  {
    id: 'wide-note',
    header: 'Note and key',
    size: 300,
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

/** What became of reviews, the newest request first. */
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
      <div style={{ overflowX: 'auto' }}>
        <SegmentedControl
          aria-label="Which answers"
          value={filter}
          onChange={(value) => setFilter(value as Filter)}
          data={Object.entries(FILTERS).map(([value, { label }]) => ({ value, label }))}
          transitionDuration={0}
        />
      </div>
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.refetch} />}
      {pages.isPending ? (
        <Loading what="reviews" />
      ) : rows.length === 0 && pages.loadMore === null ? (
        pages.error === null && <Empty title="None yet">Reviews that somebody answers are here afterwards.</Empty>
      ) : (
        <DataTable
          label="Answered reviews"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          loadMore={pages.loadMore}
          isLoadingMore={pages.isLoadingMore}
        />
      )}
    </Stack>
  )
}

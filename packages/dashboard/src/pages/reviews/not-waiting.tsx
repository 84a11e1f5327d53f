import type { DecisionDetail, Review } from '@countersign/contract'
import { Button, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getDecision } from '../../api/decisions'
import { visibleText } from '../../components/invisible'
import { KeyName } from '../../components/key-name'
import { Notice } from '../../components/notice'
import { Ago } from '../../components/time'

export interface NotWaitingProps {
  readonly id: string
  readonly onLeave: () => void
}

/** What became of a review while somebody looked at it. */
export function NotWaiting({ id, onLeave }: NotWaitingProps) {
  const { data, isError } = useQuery({ queryKey: ['decision', id, 'review'], queryFn: () => getDecision(id) })
  return (
    <Notice kind="warning" title={data === undefined ? 'This does not wait any more' : endOf(data.review?.status)}>
      <Group gap="xs" justify="space-between" mt={4}>
        <Text size="sm" component="div">
          {data !== undefined && <Who decision={data} />}
          {isError && 'It cannot be read any more.'}
        </Text>
        <Button size="xs" variant="default" onClick={onLeave}>
          Go on
        </Button>
      </Group>
    </Notice>
  )
}

const ENDS: Readonly<Record<Review['status'], string>> = {
  waiting: 'It waits again',
  approved: 'Approved meanwhile',
  declined: 'Declined meanwhile',
  withdrawn: 'Withdrawn meanwhile by the one who asked',
  expired: 'Its time is over: nobody answered',
}

function endOf(status: Review['status'] | undefined): string {
  return status === undefined ? 'This does not wait any more' : ENDS[status]
}

function Who({ decision: { review } }: { readonly decision: DecisionDetail }) {
  if (review === null || review.decided_by === null) return null
  return (
    <>
      By the key <KeyName id={review.decided_by} />
      {review.decided_at !== null && (
        <>
          {' '}
          <Ago at={review.decided_at} />
        </>
      )}
      {review.comment !== null && `: “${visibleText(review.comment)}”`}
    </>
  )
}

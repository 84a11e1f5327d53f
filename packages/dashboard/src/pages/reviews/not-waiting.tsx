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

/** Shown when a review ended while the user looked at it. */
export function NotWaiting({ id, onLeave }: NotWaitingProps) {
  const { data, isError } = useQuery({ queryKey: ['decision', id, 'review'], queryFn: () => getDecision(id) })
  return (
    <Notice kind="warning" title={data === undefined ? 'This review is no longer pending' : endOf(data.review?.status)}>
      <Group gap="xs" justify="space-between" mt={4}>
        <Text size="sm" component="div">
          {data !== undefined && <Who decision={data} />}
          {isError && 'It can no longer be read.'}
        </Text>
        <Button size="xs" variant="default" onClick={onLeave}>
          Continue
        </Button>
      </Group>
    </Notice>
  )
}

const ENDS: Readonly<Record<Review['status'], string>> = {
  waiting: 'It is pending again',
  approved: 'Already approved',
  declined: 'Already declined',
  withdrawn: 'Withdrawn by the requester',
  expired: 'It expired without a response',
}

function endOf(status: Review['status'] | undefined): string {
  return status === undefined ? 'This review is no longer pending' : ENDS[status]
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

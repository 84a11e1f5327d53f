import type { DecisionDetail } from '@countersign/contract'
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure, useLocalStorage } from '@mantine/hooks'
import { CommandPaletteIcon } from '@primer/octicons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { MOST_WAITING } from '../../api/reviews'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { Empty, Loading } from '../../components/page'
import { useLive } from '../../live'
import { useMay, useSession } from '../../session'
import { afterApprovalQuery, isRefused } from './approval-effect'
import { type KeyAct, useReviewKeys } from './keys'
import { KeysDialog } from './keys-dialog'
import { isApprovable, whyNotAnswer } from './may-answer'
import { ReviewCard } from './review-card'
import classes from './reviews.module.css'
import { type Answering, useQueue } from './use-queue'

export interface WaitingReviewsProps {
  /** Limits the list to this agent. */
  readonly agentId: string | undefined
  readonly onEveryAgent: () => void
}

/** Pending reviews, the one with the least time left first. */
export function WaitingReviews({ agentId, onEveryAgent }: WaitingReviewsProps) {
  const mayAnswer = useMay()('reviews:write')
  const { key } = useSession()
  const client = useQueryClient()
  const queue = useQueue(agentId)
  const { query, groups, current } = queue
  const [isHelpOpen, help] = useDisclosure()
  const [hasKeys, setHasKeys] = useLocalStorage({ key: 'reviews-keys', defaultValue: true })

  const mayApprove = (decision: DecisionDetail) =>
    isApprovable(decision) && !isRefused(client.getQueryData(afterApprovalQuery(decision).queryKey) ?? null)
  const act = (what: KeyAct) => {
    if (what === 'help') help.open()
    else if (what === 'next') queue.move(1)
    else if (what === 'previous') queue.move(-1)
    else if (current?.isWaiting && whyNotAnswer(key, current.decision) === null) {
      if (what === 'decline' || mayApprove(current.decision)) queue.open(current.decision, what)
    }
  }
  useReviewKeys(hasKeys, act)

  if (query.isPending) return <Loading what="reviews" />
  const isComplete = query.data?.isComplete !== false
  return (
    <Stack gap="md" ref={queue.list} tabIndex={-1} className={classes.queue}>
      <div className={classes.bar}>
        <Group justify="space-between" gap="xs">
          <State count={isComplete ? String(queue.waiting) : `More than ${MOST_WAITING}`} agentId={agentId} />
          <Group gap="xs">
            {agentId !== undefined && (
              <Button size="xs" variant="subtle" onClick={onEveryAgent}>
                Show all agents
              </Button>
            )}
            <Button size="xs" variant="default" leftSection={<CommandPaletteIcon size={16} />} onClick={help.open}>
              Shortcuts
            </Button>
          </Group>
        </Group>
        <div role="status">{queue.answered !== null && <Answered {...queue.answered} />}</div>
      </div>
      {query.isError && <ErrorNotice error={query.error} retry={query.refetch} />}
      {!mayAnswer && groups.length > 0 && (
        <Notice kind="info" title="You can read these reviews but not decide them">
          Your key is missing the scope reviews:write.
        </Notice>
      )}
      {!isComplete && (
        <Notice kind="warning" title={`More than ${MOST_WAITING} reviews are pending`}>
          These are the newest {MOST_WAITING}. Older ones appear as you work through these.
        </Notice>
      )}
      {groups.length === 0 && !query.isError && <NothingWaits agentId={agentId} />}
      {groups.map((group, index) => (
        <ReviewCard
          key={group.hash}
          group={group}
          position={index + 1}
          currentId={current?.decision.id ?? null}
          answering={queue.answering}
          onFocus={queue.look}
          onOpen={queue.open}
          onClose={queue.close}
          onLeave={queue.leave}
          onDone={queue.done}
        />
      ))}
      {queue.hidden > 0 && (
        <Button variant="default" onClick={queue.showMore} style={{ alignSelf: 'center' }}>
          Show more ({queue.hidden} not shown)
        </Button>
      )}
      <KeysDialog isOpen={isHelpOpen} onClose={help.close} isOn={hasKeys} onSwitch={setHasKeys} />
    </Stack>
  )
}

function State({ count, agentId }: { readonly count: string; readonly agentId: string | undefined }) {
  const { isConnected } = useLive()
  return (
    <Text size="sm" className="quiet" role="status" style={{ overflowWrap: 'anywhere' }}>
      {count} pending
      {agentId !== undefined && ` from ${visibleText(agentId)}`}
      {isConnected ? ' · live' : ' · not connected; new reviews appear within 30 seconds'}
    </Text>
  )
}

function Answered({ decision: { id, action, resource, agent_id }, answer }: Answering) {
  const isApproved = answer === 'approve'
  return (
    <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
      {isApproved ? 'Approved' : 'Declined'}:{' '}
      <Anchor underline="always" renderRoot={(props) => <Link {...props} to="/decisions/$id" params={{ id }} />}>
        {action}
        {resource !== null && ` on ${visibleText(resource)}`}
      </Anchor>{' '}
      of {agent_id}. {isApproved ? 'The agent can now run it once.' : 'The agent will not run it.'}
    </Text>
  )
}

function NothingWaits({ agentId }: { readonly agentId: string | undefined }) {
  return (
    <Empty title={agentId === undefined ? 'No pending reviews' : `No pending reviews from ${visibleText(agentId)}`}>
      Requests appear here when a rule has the effect review, or when a budget has{' '}
      <span className="mono">on_exceed: review</span> and no room left.{' '}
      <Anchor underline="always" renderRoot={(props) => <Link {...props} to="/policies" />}>
        Choose which requests need a review
      </Anchor>
    </Empty>
  )
}

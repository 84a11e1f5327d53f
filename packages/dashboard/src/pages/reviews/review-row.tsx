import type { DecisionDetail } from '@countersign/contract'
import { Anchor, Button, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AfterApproval } from '../../api/reviews'
import { Badge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { Ago, useNow } from '../../components/time'
import { useSession } from '../../session'
import { useUnsentNote } from '../../unsent-notes'
import { AnswerForm } from './answer-form'
import { isRefused } from './approval-effect'
import { isApprovable, whyNotAnswer } from './may-answer'
import { NotWaiting } from './not-waiting'
import { deadlineOf, type QueuedReview } from './queue'
import classes from './reviews.module.css'
import { timeLeftText, URGENT_MS } from './time-left'

export type Answer = 'approve' | 'decline'

export interface ReviewRowProps {
  readonly review: QueuedReview
  readonly isCurrent: boolean
  /** The answer that the user is about to give. */
  readonly answer: Answer | null
  readonly after: AfterApproval | null
  /** The reason, shown when identical requests wait for different ones. */
  readonly why: ReactNode
  readonly onFocus: (decision: DecisionDetail) => void
  readonly onOpen: (decision: DecisionDetail, answer: Answer) => void
  readonly onClose: (id: string) => void
  readonly onLeave: (id: string) => void
  readonly onDone: (decision: DecisionDetail, answer: Answer) => Promise<void>
}

/** One pending request, with its remaining time and its buttons. */
export function ReviewRow(props: ReviewRowProps) {
  const { review, isCurrent, answer, after, why, onFocus, onOpen, onClose, onLeave, onDone } = props
  const { decision, isWaiting } = review
  const { id } = decision
  const note = useUnsentNote(id)
  const now = useNow(1_000)
  const leftMs = Date.parse(deadlineOf(decision)) - now
  const isOpen = isWaiting && leftMs > 0
  return (
    <li
      className={classes.row}
      tabIndex={-1}
      data-review={id}
      aria-current={isCurrent ? 'true' : undefined}
      onFocus={() => onFocus(decision)}
    >
      <Group justify="space-between" gap="xs">
        <div className={classes.facts}>
          <Badge tone={leftMs < URGENT_MS ? 'deny' : 'quiet'}>{timeLeftText(leftMs)}</Badge>
          <Text size="sm" className="quiet" component="span">
            asked <Ago at={decision.evaluated_at} />
          </Text>
          <Anchor size="sm" renderRoot={(rest) => <Link {...rest} to="/decisions/$id" params={{ id }} />}>
            Explain
          </Anchor>
        </div>
        {isOpen && answer === null && <Buttons decision={decision} isRefused={isRefused(after)} onOpen={onOpen} />}
      </Group>
      {why !== null && <div>{why}</div>}
      {!isWaiting && <NotWaiting id={id} onLeave={() => onLeave(id)} />}
      {answer === null && note.text !== '' && (
        <Text size="sm" className={`quiet ${classes.note}`}>
          Your note, not sent yet: {visibleText(note.text)}
        </Text>
      )}
      {answer !== null && (
        <AnswerForm
          key={answer}
          decision={decision}
          answer={answer}
          isOpen={isOpen}
          after={after}
          note={note}
          onClose={() => onClose(id)}
          onDone={onDone}
        />
      )}
    </li>
  )
}

interface ButtonsProps {
  readonly decision: DecisionDetail
  readonly isRefused: boolean
  readonly onOpen: (decision: DecisionDetail, answer: Answer) => void
}

function Buttons({ decision, isRefused: isApprovalRefused, onOpen }: ButtonsProps) {
  const why = whyNotAnswer(useSession().key, decision)
  if (why !== null)
    return (
      <Text size="sm" className="quiet">
        {why}
      </Text>
    )
  return (
    <Group gap="xs">
      {isApprovalRefused && (
        <Text size="sm" className="quiet">
          It cannot be approved right now: see above.
        </Text>
      )}
      <Button size="xs" variant="default" onClick={() => onOpen(decision, 'decline')}>
        Decline …
      </Button>
      {isApprovable(decision) && !isApprovalRefused && (
        <Button size="xs" onClick={() => onOpen(decision, 'approve')}>
          Approve …
        </Button>
      )}
    </Group>
  )
}

import type { DecisionDetail, Policy } from '@countersign/contract'
import { Group, Text, Title } from '@mantine/core'
import { useInViewport } from '@mantine/hooks'
import { useId } from 'react'
import { usePoliciesById } from '../../api/policy-names'
import { Badge } from '../../components/badges'
import { ErasedAt } from '../../components/erasure'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { AgentLink, PolicyLink } from '../../components/object-links'
import { Facts } from '../../components/panel'
import { ApprovalEffect, useAfterApproval } from './approval-effect'
import { isApprovable } from './may-answer'
import type { ReviewGroup } from './queue'
import { type Answer, ReviewRow } from './review-row'
import classes from './reviews.module.css'

export interface ReviewCardProps {
  readonly group: ReviewGroup
  /** The number of the card, from 1. */
  readonly position: number
  readonly currentId: string | null
  readonly answering: ReadonlyMap<string, { readonly answer: Answer }>
  readonly onFocus: (decision: DecisionDetail) => void
  readonly onOpen: (decision: DecisionDetail, answer: Answer) => void
  readonly onClose: (id: string) => void
  readonly onLeave: (id: string) => void
  readonly onDone: (decision: DecisionDetail, answer: Answer) => Promise<void>
}

/** A card for identical requests: their content once, then a row for each, which is answered separately. */
export function ReviewCard({ group: { reviews }, position, currentId, answering, ...on }: ReviewCardProps) {
  const id = useId()
  const { ref, inViewport } = useInViewport<HTMLElement>()
  const policies = usePoliciesById()
  const first = reviews[0]?.decision as DecisionDetail
  const after = useAfterApproval(first, inViewport && isApprovable(first))
  const count = reviews.length
  const reasons = new Set(reviews.map(({ decision }) => whyOf(decision)))
  return (
    <article ref={ref} className={classes.card} aria-labelledby={id}>
      <Group justify="space-between" gap="xs" align="flex-start">
        <Title order={2} id={id} className={classes.title}>
          {first.action}
          {first.resource !== null && <span className={classes.resource}> on {visibleText(first.resource)}</span>}
        </Title>
        {count > 1 && <Badge tone="review">{`${count} equal requests`}</Badge>}
      </Group>
      <Facts
        facts={[
          ['Agent', <AgentLink key="agent" id={first.agent_id} />],
          ['Why', reasons.size === 1 ? <Why key="why" decision={first} policies={policies} /> : 'See each one below.'],
        ]}
      />
      <div className={classes.parts}>
        <div>
          <Text fw={600} size="sm" mb={4}>
            Request context
          </Text>
          {!isApprovable(first) ? (
            <Text className="quiet">
              <ErasedAt decision={first} />. It can no longer be approved. Decline it.
            </Text>
          ) : first.context === null ? (
            <Text className="quiet">No context.</Text>
          ) : (
            <JsonView value={first.context} label={`Context of ${position}, ${first.action}`} />
          )}
        </div>
        {isApprovable(first) && <ApprovalEffect decision={first} after={after} isOneOfMany={count > 1} />}
      </div>
      <ul className={classes.rows} aria-label={`Requests of ${position}, ${first.action}`}>
        {reviews.map((review) => (
          <ReviewRow
            key={review.decision.id}
            review={review}
            isCurrent={review.decision.id === currentId}
            answer={answering.get(review.decision.id)?.answer ?? null}
            after={after.data ?? null}
            why={reasons.size > 1 ? <Why decision={review.decision} policies={policies} /> : null}
            {...on}
          />
        ))}
      </ul>
    </article>
  )
}

function whyOf({ reason, policy_id, policy_revision, rule }: DecisionDetail): string {
  return JSON.stringify([reason, policy_id, policy_revision, rule])
}

interface WhyProps {
  readonly decision: DecisionDetail
  readonly policies: ReadonlyMap<string, Policy> | null
}

function Why({ decision: { reason, reason_code, policy_id, rule }, policies }: WhyProps) {
  const by = reason_code === 'budget_exceeded' ? 'The budget of' : rule === null ? 'By' : `Rule ${rule + 1} of`
  return (
    <>
      <div>{visibleText(reason ?? 'A rule requires a review.')}</div>
      <Text size="sm" className={`quiet ${classes.by}`} component="div">
        {by} <PolicyLink id={policy_id} name={policies?.get(policy_id)?.name} />
      </Text>
    </>
  )
}

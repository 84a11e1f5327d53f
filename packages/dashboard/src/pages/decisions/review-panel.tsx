import type { Review } from '@countersign/contract'
import { Button, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { KeyLink, PolicyLink } from '../../components/object-links'
import { Facts, Panel } from '../../components/panel'
import { Ago, At } from '../../components/time'
import { useMay } from '../../session'
import type { AnswerPanelProps, PolicyNames } from './answer-panel'

const TONES: Readonly<Record<Review['status'], 'allow' | 'deny' | 'review' | 'quiet'>> = {
  waiting: 'review',
  approved: 'allow',
  declined: 'deny',
  withdrawn: 'quiet',
  expired: 'quiet',
}

/** The review of a decision. Renders nothing for a decision without one. */
export function ReviewPanel({ decision, names }: AnswerPanelProps) {
  const { review, status, agent_id, expires_at } = decision
  const may = useMay()
  if (review === null) return null
  const isWaiting = review.status === 'waiting'
  return (
    <Panel title="Review" aside={<Badge tone={TONES[review.status]}>{review.status}</Badge>}>
      <Stack gap="sm">
        <Facts
          facts={[
            ['Requested', <At key="asked" at={review.requested_at} />],
            ['Time left', isWaiting ? <TimeLeft key="left" end={review.expires_at} /> : null],
            ['Answered', review.decided_at === null ? null : <At key="answered" at={review.decided_at} />],
            ['Answered by', review.decided_by === null ? null : <KeyLink key="by" id={review.decided_by} />],
            ['Comment', review.comment === null ? null : visibleText(review.comment)],
            [
              'Approved as',
              review.policy_id === null ? null : <ApprovedAs key="policy" review={review} names={names} />,
            ],
            ['Claim within', status === 'approved' ? <TimeLeft key="claim" end={expires_at} /> : null],
          ]}
        />
        {review.self_approved === true && (
          <Text size="sm">It was approved by the requesting key or a related one.</Text>
        )}
        {isWaiting && may('reviews:write') && (
          <Button
            style={{ alignSelf: 'flex-start' }}
            renderRoot={(props) => <Link {...props} to="/reviews" search={{ agent_id }} />}
          >
            Approve or decline
          </Button>
        )}
      </Stack>
    </Panel>
  )
}

function TimeLeft({ end }: { readonly end: string }) {
  return (
    <>
      ends <Ago at={end} />, at <At at={end} />
    </>
  )
}

/** The rule that the approval was evaluated with. */
function ApprovedAs({ review, names }: { readonly review: Review; readonly names: PolicyNames }) {
  const { policy_id, policy_revision, rule } = review
  return (
    <>
      {rule !== null && `rule ${rule + 1} of `}
      <PolicyLink id={policy_id as string} name={names.get(policy_id as string)} />
      {policy_revision !== null && `, revision ${policy_revision}`}
    </>
  )
}

import type { PolicyExplanation, SimulateResponse } from '@countersign/contract'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleText } from '../../components/invisible'
import { Notice } from '../../components/notice'
import { DecisionLink, PolicyLink } from '../../components/object-links'

export interface DraftNoticeProps {
  readonly decisionId: string
  /** Where the rule was put; null for a policy of its own. */
  readonly place: number | null
  /** Whether the policy is another one than at the time of the decision. */
  readonly hasChanged?: boolean
  /** To the request of the decision, with the draft as it was made; null when nobody can tell. */
  readonly answer: SimulateResponse | null
  /** What a new policy was put above. */
  readonly above?: PolicyExplanation | null
}

/** Nobody wrote this rule: somebody has to read it before it counts. */
export function DraftNotice({ decisionId, place, hasChanged = false, answer, above = null }: DraftNoticeProps) {
  const what = place === null ? 'this policy' : `rule ${place + 1}`
  return (
    <Notice kind="warning" title="A draft, not saved: check it">
      {answer?.effect === 'allow' ? (
        <>
          With {what}, the current policies allow what <DecisionLink id={decisionId} /> asked.
        </>
      ) : (
        <>
          The draft of {what} is meant to allow what <DecisionLink id={decisionId} /> asked.
        </>
      )}{' '}
      {answer !== null && answer.effect !== 'allow' && (
        <StillDecided decisionId={decisionId} answer={answer} isOwn={place === null} />
      )}
      Once you save it, it counts for every request like that one. Try it, and narrow it where it allows too much.
      {above !== null && (
        <>
          {' '}
          Its priority is {above.priority + 1}, above that of <PolicyLink id={above.policy_id} name={above.name} />,
          which would decide otherwise: it passes by every rule and budget of a lower priority.
        </>
      )}
      {hasChanged &&
        ' The policy has changed since that decision, so the rule stands in front of all others: check its place.'}
    </Notice>
  )
}

interface StillDecidedProps {
  readonly decisionId: string
  readonly answer: SimulateResponse
  readonly isOwn: boolean
}

/** What decides in spite of the draft. */
function StillDecided({ decisionId, answer, isOwn }: StillDecidedProps) {
  const { effect, reason, policy_id, rule, explanation } = answer
  const name = explanation.policies.find((policy) => policy.policy_id === policy_id)?.name
  return (
    <>
      It does not yet: the answer would be {effect}, by {rule !== null && `rule ${rule + 1} of `}
      <PolicyLink id={policy_id} name={name} />
      {reason !== null && ` (${visibleText(reason)})`}.{' '}
      {!isOwn && (
        <>
          Change that one, or{' '}
          <Anchor
            inherit
            underline="always"
            renderRoot={(props) => <Link {...props} to="/policies/new" search={{ for: decisionId }} />}
          >
            write a policy of its own
          </Anchor>
          .{' '}
        </>
      )}
    </>
  )
}

import type { PolicyExplanation, SimulateResponse } from '@countersign/contract'
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleText } from '../../components/invisible'
import { Notice } from '../../components/notice'
import { DecisionLink, PolicyLink } from '../../components/object-links'

export interface DraftNoticeProps {
  readonly decisionId: string
  /** The index of the drafted rule; null for a separate policy. */
  readonly place: number | null
  /** Whether the policy has changed since the decision. */
  readonly hasChanged?: boolean
  /** The simulated result of the decision's request with the original draft; null when unknown. */
  readonly answer: SimulateResponse | null
  /** The policy that the draft has a higher priority than. */
  readonly above?: PolicyExplanation | null
}

/** Asks the user to read a generated rule before saving it. */
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
      Once saved, it applies to every request like that one. Test it, and narrow it where it allows too much.
      {above !== null && (
        <>
          {' '}
          Its priority is {above.priority + 1}, above that of <PolicyLink id={above.policy_id} name={above.name} />,
          which would otherwise decide. It overrides every rule and budget with a lower priority.
        </>
      )}
      {hasChanged && ' The policy has changed since that decision, so the rule was put first. Check its position.'}
    </Notice>
  )
}

interface StillDecidedProps {
  readonly decisionId: string
  readonly answer: SimulateResponse
  readonly isOwn: boolean
}

/** Names the policy that still decides despite the draft. */
function StillDecided({ decisionId, answer, isOwn }: StillDecidedProps) {
  const { effect, reason, policy_id, rule, explanation } = answer
  const name = explanation.policies.find((policy) => policy.policy_id === policy_id)?.name
  return (
    <>
      It does not yet: the result would be {effect}, by {rule !== null && `rule ${rule + 1} of `}
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
            write a separate policy
          </Anchor>
          .{' '}
        </>
      )}
    </>
  )
}

import type { DecisionDetail, Problem } from '@countersign/contract'
import { Anchor, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ApiError } from '../../api/client'
import { wordsOf } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'

export interface RefusalProps {
  readonly error: Error
  readonly decision: DecisionDetail
}

/** Says why the server refused an answer, and what the user can do. */
export function Refusal({ error, decision }: RefusalProps) {
  const problem = error instanceof ApiError ? error.problem : null
  const told = problem === null ? null : tell(problem, decision)
  if (told === null) return <ErrorNotice error={error} />
  const [title, text] = told
  return (
    <Notice kind="warning" title={title} isUrgent>
      <Text size="sm" component="div">
        {text}
      </Text>
    </Notice>
  )
}

function tell({ code, detail, current_status }: Problem, decision: DecisionDetail): [string, ReactNode] | null {
  switch (code) {
    case 'invalid_transition':
      if (current_status === 'awaiting_review') return ['It can no longer be approved', visibleText(detail)]
      return [
        'Your response came too late',
        `The decision is ${wordsOf(current_status ?? 'no longer waiting')}. Nothing has changed.`,
      ]
    case 'agent_suspended':
      return [
        'The agent is suspended',
        <>
          Resume{' '}
          <Anchor
            underline="always"
            renderRoot={(props) => <Link {...props} to="/agents/$id" params={{ id: decision.agent_id }} />}
          >
            {decision.agent_id}
          </Anchor>{' '}
          first, or decline.
        </>,
      ]
    case 'self_approval':
      return [
        'You cannot review this one',
        'Your key made the request or is related to the key that did. Someone with another key must review it.',
      ]
    case 'policy_denies':
      return [
        'The current policies deny it',
        `${visibleText(detail)} You can decline it. To approve it, change the policy first.`,
      ]
    case 'budget_exceeded':
      return ['A budget has no room for it', visibleText(detail)]
    case 'not_found':
      return ['The decision is gone', 'Its record is no longer kept. There is nothing to review.']
    default:
      return null
  }
}

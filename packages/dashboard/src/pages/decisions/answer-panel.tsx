import type { DecisionDetail } from '@countersign/contract'
import { wordsOf } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { PolicyLink } from '../../components/object-links'
import { Facts, Panel } from '../../components/panel'

/** The names of policies by id, at the time of the decision. Empty for a key that cannot read policies. */
export type PolicyNames = ReadonlyMap<string, string>

export interface AnswerPanelProps {
  readonly decision: DecisionDetail
  readonly names: PolicyNames
}

/** The result of a decision. */
export function AnswerPanel({ decision, names }: AnswerPanelProps) {
  const { reason, reason_code, policy_id, policy_revision, rule, policy_set, advice, latency_ms } = decision
  return (
    <Panel title="Result">
      <Facts
        facts={[
          ['Reason', reason === null ? null : visibleText(reason)],
          ['Reason code', <code key="code">{reason_code}</code>],
          ['Policy', <PolicyLink key="policy" id={policy_id} name={names.get(policy_id)} />],
          ['Revision', policy_revision],
          ['Rule', rule === null ? null : rule + 1],
          ['Policy set', policy_set],
          ['Advice to the agent', advice === null ? null : visibleText(advice.message)],
          ['Retry', advice === null ? null : wordsOf(advice.retry)],
          ['Evaluation', `${latency_ms} ms`],
        ]}
      />
    </Panel>
  )
}

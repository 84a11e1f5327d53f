/** The rule that is meant to allow what was asked in a decision, put where it would decide. */
import type { DecisionDetail, Policy, PolicyExplanation, ReasonCode, SimulateResponse } from '@countersign/contract'
import { prettyJson } from '../../components/json/pretty-json'
import { draftRule } from './draft-rule'
import { insertItem } from './edit-text'
import { policyText } from './policy-text'

const NAME_LENGTH = 128
const MOST_PRIORITY = 1_000_000
const BY_RULES: readonly ReasonCode[] = ['rule_matched', 'condition_indeterminate']

/** How a new policy was drafted, and what it would do. */
export interface NewDraft {
  readonly text: string
  /** To the request of the decision, with the draft; null when nobody could tell. */
  readonly answer: SimulateResponse | null
  /** The policy that would decide instead, if the draft did not have a higher priority. */
  readonly above: PolicyExplanation | null
}

/**
 * A policy of its own, for the agent that asked. It has a higher priority than the policy whose rule would decide instead.
 *
 * @param ask what the request would be answered with such a policy
 */
export async function draftNewPolicy(
  decision: DecisionDetail,
  ask: (text: string) => Promise<SimulateResponse | null>,
): Promise<NewDraft> {
  const plain = newPolicyFor(decision)
  const answer = await ask(plain)
  const above = answer === null ? null : decidingRuleOf(answer)
  if (above === null || above.priority >= MOST_PRIORITY) return { text: plain, answer, above: null }
  const text = newPolicyFor(decision, above.priority + 1)
  return { text, answer: await ask(text), above }
}

function newPolicyFor(decision: DecisionDetail, priority?: number): string {
  const { action, agent_id } = decision
  const name = `allow ${action} for ${agent_id}`.slice(0, NAME_LENGTH)
  const head = { name, ...(priority !== undefined && { priority }) }
  return `${prettyJson({ ...head, agents: [agent_id], rules: [draftRule(decision)] })}\n`
}

/** The policy that keeps a request from being allowed by a rule of its own. A budget is nothing to pass by. */
function decidingRuleOf({ effect, reason_code, policy_id, explanation }: SimulateResponse): PolicyExplanation | null {
  if (effect === 'allow' || !BY_RULES.includes(reason_code)) return null
  return explanation.policies.find((policy) => policy.policy_id === policy_id) ?? null
}

/** A policy with the rule at its place. */
export function policyWithRuleFor(policy: Policy, decision: DecisionDetail): string {
  return insertItem(policyText(policy), ['rules'], placeOfRule(policy, decision), draftRule(decision))
}

/** In front of the rule that decided. When that rule is not known to be the same any more, in front of all. */
export function placeOfRule(policy: Policy, decision: DecisionDetail): number {
  return isSamePolicy(policy, decision) ? (decision.rule ?? 0) : 0
}

/** Whether the policy that decided is still the one that is edited. */
export function isSamePolicy(policy: Policy, { policy_id, policy_revision }: DecisionDetail): boolean {
  return policy.id === policy_id && policy.revision === policy_revision
}

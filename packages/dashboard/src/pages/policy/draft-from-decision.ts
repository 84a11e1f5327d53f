/** Drafts a rule that allows the request of a decision, at a place where it decides. */
import type { DecisionDetail, Policy, PolicyExplanation, ReasonCode, SimulateResponse } from '@countersign/contract'
import { prettyJson } from '../../components/json/pretty-json'
import { draftRule } from './draft-rule'
import { insertItem } from './edit-text'
import { policyText } from './policy-text'

const NAME_LENGTH = 128
const MOST_PRIORITY = 1_000_000
const BY_RULES: readonly ReasonCode[] = ['rule_matched', 'condition_indeterminate']

/** A draft of a new policy, and its effect. */
export interface NewDraft {
  readonly text: string
  /** The simulated result of the decision's request with the draft; null when the simulation failed. */
  readonly answer: SimulateResponse | null
  /** The policy that would decide if the draft did not have a higher priority. */
  readonly above: PolicyExplanation | null
}

/**
 * Drafts a separate policy for the requesting agent. Its priority is higher than that of the policy whose rule would otherwise
 * decide.
 *
 * @param ask simulates the request with such a policy
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

/** Returns the policy whose rule keeps the draft from allowing the request. A budget must not be overridden. */
function decidingRuleOf({ effect, reason_code, policy_id, explanation }: SimulateResponse): PolicyExplanation | null {
  if (effect === 'allow' || !BY_RULES.includes(reason_code)) return null
  return explanation.policies.find((policy) => policy.policy_id === policy_id) ?? null
}

/** Returns the policy's text with the drafted rule inserted. */
export function policyWithRuleFor(policy: Policy, decision: DecisionDetail): string {
  return insertItem(policyText(policy), ['rules'], placeOfRule(policy, decision), draftRule(decision))
}

/** The place before the rule that decided. If the policy has changed since, the first place. */
export function placeOfRule(policy: Policy, decision: DecisionDetail): number {
  return isSamePolicy(policy, decision) ? (decision.rule ?? 0) : 0
}

/** Whether the edited revision is the one that decided. */
export function isSamePolicy(policy: Policy, { policy_id, policy_revision }: DecisionDetail): boolean {
  return policy.id === policy_id && policy.revision === policy_revision
}

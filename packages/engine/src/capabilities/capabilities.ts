import type { Capability } from '@countersign/contract'
import { countsAction } from '../budget/ask.js'
import type { CompiledPolicy, CompiledRule } from '../compiled-policy.js'
import type { PolicySet } from '../policy-set.js'
import type { Facts } from '../request.js'
import { Steps } from '../steps.js'
import { Level, outcomesOfBudget } from './level.js'
import { ALLOW, ANY_EFFECT, DENY, effectsIn, NOTHING, type Outcomes, REVIEW } from './outcomes.js'
import { RuleOutcomes } from './rule-outcomes.js'

/** Whose requests are meant, and what the decision point knows of the agent now. */
export interface CapableAgent extends Omit<Facts, 'now'> {
  readonly agent_id: string
}

/**
 * Which effects a request of the agent for each of these actions can get: over every resource, context and clock, every
 * state of the budgets, and however many reviews are open. None that can occur is left out. Some that cannot may be named:
 * conditions are taken one by one, so that two which never hold together seem to. A fault of ours while evaluating, which
 * denies too, is left aside.
 *
 * To find out takes up to `maxSteps` for each action, as an evaluation does; once they are over, every effect is named.
 * Yields between its parts.
 *
 * Source: docs/decisions.md "What an agent can ever get".
 */
export function* capabilitiesInParts(
  set: PolicySet,
  agent: CapableAgent,
  actions: readonly string[],
  maxSteps: number,
): Generator<void, Capability[]> {
  const known = new RuleOutcomes(agent, maxSteps)
  const capabilities: Capability[] = []
  for (const action of actions) {
    const outcomes = agent.suspended ? DENY : yield* outcomesFor(set, agent, action, known, maxSteps)
    capabilities.push({ action, effects: effectsIn(outcomes) })
    yield
  }
  return capabilities
}

/** Goes through rules in the order of evaluation, until a priority at which some policy matches every request. */
function* outcomesFor(
  set: PolicySet,
  agent: CapableAgent,
  action: string,
  known: RuleOutcomes,
  maxSteps: number,
): Generator<void, Outcomes> {
  const rules = set.enforcedRules(agent.agent_id, action)
  const steps = new Steps(maxSteps)
  const evaluation = new Steps(maxSteps)
  let found = NOTHING
  for (let at = 0; at < rules.length && (found & NOTHING) !== 0; ) {
    const { priority } = (rules[at] as CompiledRule).policy
    const level = new Level()
    while (rules[at]?.policy.priority === priority) {
      const { policy } = rules[at] as CompiledRule
      let said = NOTHING
      for (let rule = rules[at]; rule?.policy === policy; rule = rules[at]) {
        at += 1
        if ((said & NOTHING) === 0) continue
        const { outcomes, mostSteps, steps: taken } = known.find(rule, action)
        steps.take(taken)
        if (steps.isOver) return ANY_EFFECT
        if (steps.endsPart()) yield
        evaluation.take(mostSteps)
        said = (said & ~NOTHING) | outcomes
      }
      level.add(said, afterBudget(policy, agent, action))
    }
    found = (found & ~NOTHING) | level.outcomes
  }
  return withOtherDenies(found, evaluation.isOver)
}

/** What becomes of an allow of this policy. */
function afterBudget({ budget }: CompiledPolicy, { metadata }: CapableAgent, action: string): Outcomes {
  if (budget === null || !countsAction(budget, action)) return ALLOW
  return outcomesOfBudget(budget, metadata !== null)
}

/** Nothing matched, no place for one more review, or an evaluation that takes too long. */
function withOtherDenies(found: Outcomes, canTakeTooLong: boolean): Outcomes {
  return (found & (NOTHING | REVIEW)) !== 0 || canTakeTooLong ? found | DENY : found
}

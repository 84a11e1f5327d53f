import type { Capability } from '@countersign/contract'
import { countsAction } from '../budget/ask.js'
import type { CompiledPolicy, CompiledRule } from '../compiled-policy.js'
import type { PolicySet } from '../policy-set.js'
import type { Facts } from '../request.js'
import { Steps } from '../steps.js'
import { Level, outcomesOfBudget } from './level.js'
import { ALLOW, ANY_EFFECT, DENY, effectsIn, NOTHING, type Outcomes, REVIEW } from './outcomes.js'
import { RuleOutcomes } from './rule-outcomes.js'

/** The agent in question, and what the decision point knows about it now. */
export interface CapableAgent extends Omit<Facts, 'now'> {
  readonly agent_id: string
}

/**
 * Finds the effects that a request of the agent can get for each of these actions: over every resource, context and
 * time, every state of the budgets, and any number of open reviews. It names every effect that can occur. It may also
 * name some that cannot: conditions are judged one by one, so two conditions that exclude each other still seem
 * possible. It ignores denials by internal errors.
 *
 * The search takes up to `maxSteps` for each action, like an evaluation; once they are used up, every effect is named.
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

/** Visits rules in the order of evaluation, down to a priority at which some policy matches every request. */
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

/** Returns the possible results of an allow by this policy. */
function afterBudget({ budget }: CompiledPolicy, { metadata }: CapableAgent, action: string): Outcomes {
  if (budget === null || !countsAction(budget, action)) return ALLOW
  return outcomesOfBudget(budget, metadata !== null)
}

/**
 * Adds the denials without a matching rule: no match, no slot for another review, and an evaluation that takes too
 * long.
 */
function withOtherDenies(found: Outcomes, canTakeTooLong: boolean): Outcomes {
  return (found & (NOTHING | REVIEW)) !== 0 || canTakeTooLong ? found | DENY : found
}

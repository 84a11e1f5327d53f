import { type CompiledRule, effectOf } from '../compiled-policy.js'
import { FALSE, TRUE, UNKNOWN } from '../truth.js'
import { NOTHING, type Outcomes, outcomeOf } from './outcomes.js'
import { type KnownTests, possibleTruths } from './possible-truths.js'
import type { CommonFacts } from './possible-values.js'
import { includes, type TruthSet } from './truth-set.js'

interface RuleOutcome {
  readonly outcomes: Outcomes
  /** The most steps that an evaluation of the rule takes. */
  readonly mostSteps: number
  /** The steps that the search took. */
  readonly steps: number
}

/** Finds the possible results of rules for one agent. Results that hold for every action are computed once. */
export class RuleOutcomes {
  private readonly known = new Map<CompiledRule, RuleOutcome>()
  private readonly knownTests: KnownTests = new Map()

  constructor(
    private readonly agent: Omit<CommonFacts, 'action'>,
    private readonly maxSteps: number,
  ) {}

  /** The action must match the rule's pattern. */
  find(rule: CompiledRule, action: string): RuleOutcome {
    const known = this.known.get(rule)
    if (known !== undefined) return known
    const facts = { agent_id: this.agent.agent_id, metadata: this.agent.metadata, action }
    const { truths, mostSteps, steps, readsAction } = possibleTruths(rule, facts, this.knownTests, this.maxSteps)
    const found = { outcomes: outcomesOf(rule, truths), mostSteps, steps }
    if (!readsAction) this.known.set(rule, found)
    return found
  }
}

function outcomesOf(rule: CompiledRule, truths: TruthSet): Outcomes {
  let outcomes = 0
  for (const truth of [FALSE, UNKNOWN, TRUE] as const) {
    if (!includes(truths, truth)) continue
    const effect = effectOf(rule, truth)
    outcomes |= effect === null ? NOTHING : outcomeOf(effect)
  }
  return outcomes
}

import { type CompiledRule, effectOf } from '../compiled-policy.js'
import { FALSE, TRUE, UNKNOWN } from '../truth.js'
import { NOTHING, type Outcomes, outcomeOf } from './outcomes.js'
import { type KnownTests, possibleTruths } from './possible-truths.js'
import type { CommonFacts } from './possible-values.js'
import { includes, type TruthSet } from './truth-set.js'

interface RuleOutcome {
  readonly outcomes: Outcomes
  /** The steps that an evaluation of the rule takes at most. */
  readonly mostSteps: number
  /** The steps that it takes to find out. */
  readonly steps: number
}

/** What rules can say to one agent. What holds for every action is found out once. */
export class RuleOutcomes {
  private readonly known = new Map<CompiledRule, RuleOutcome>()
  private readonly knownTests: KnownTests = new Map()

  constructor(
    private readonly agent: Omit<CommonFacts, 'action'>,
    private readonly maxSteps: number,
  ) {}

  /** The action has to match the rule's pattern. */
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

import type { CompiledPolicy, CompiledRule } from './compiled-policy.js'
import { PatternIndex } from './pattern-index.js'

/**
 * Above this many agent patterns a policy's rules are indexed once, beside it, and not under each of its agents: else the
 * index would grow with the product of the two.
 */
const MANY_AGENTS = 16

type ActionIndex = PatternIndex<readonly CompiledRule[]>

const NO_RULES: readonly CompiledRule[] = []
const NO_ACTIONS: ActionIndex = PatternIndex.of(new Map())

/**
 * Which rules can match a request, by its agent and its action: an immutable index over the rules of some policies.
 * Finding them costs a few look-ups and the patterns with a like beginning, however many policies there are; adding or
 * removing a policy costs in proportion to its own agents and rules.
 */
export class Candidates {
  private constructor(
    /** Agent pattern -> action pattern -> rules in the order of evaluation. */
    private readonly byAgent: PatternIndex<ActionIndex>,
    /** The same for policies with many agents: agent pattern -> the action index of each such policy. */
    private readonly crowds: PatternIndex<ReadonlyMap<CompiledPolicy, ActionIndex>>,
  ) {}

  static of(policies: readonly CompiledPolicy[]): Candidates {
    const byAgent = new Map<string, CompiledRule[]>()
    const crowds = new Map<string, Map<CompiledPolicy, ActionIndex>>()
    for (const policy of [...policies].sort(comparePolicies)) {
      const ownIndex = hasManyAgents(policy) ? indexActions(policy.rules) : null
      for (const { source } of policy.agents) {
        if (ownIndex === null) byAgent.set(source, appendAll(byAgent.get(source) ?? [], policy.rules))
        else crowds.set(source, (crowds.get(source) ?? new Map()).set(policy, ownIndex))
      }
    }
    const actions = new Map([...byAgent].map(([source, rules]) => [source, indexActions(rules)]))
    return new Candidates(PatternIndex.of(actions), PatternIndex.of<ReadonlyMap<CompiledPolicy, ActionIndex>>(crowds))
  }

  /** The rules whose policy takes the agent and whose action pattern matches, in the order of evaluation. */
  find(agentId: string, action: string): readonly CompiledRule[] {
    const lists: (readonly CompiledRule[])[] = []
    for (const actions of this.byAgent.find(agentId)) appendAll(lists, actions.find(action))
    for (const crowd of this.crowds.find(agentId)) {
      for (const actions of crowd.values()) appendAll(lists, actions.find(action))
    }
    return mergeRules(lists)
  }

  with(policy: CompiledPolicy): Candidates {
    if (hasManyAgents(policy)) return this.changeCrowds(policy, indexActions(policy.rules))
    return this.changeRules(policy, (rules, own) => mergeRules([rules, own]))
  }

  without(policy: CompiledPolicy): Candidates {
    if (hasManyAgents(policy)) return this.changeCrowds(policy, null)
    return this.changeRules(policy, (rules) => rules.filter((rule) => rule.policy !== policy))
  }

  /** Changes each list that the policy's rules stand in, once; `own` are those of its rules that belong there. */
  private changeRules(
    policy: CompiledPolicy,
    change: (rules: readonly CompiledRule[], own: readonly CompiledRule[]) => readonly CompiledRule[],
  ): Candidates {
    let byAgent = this.byAgent
    const ownByAction = groupByAction(policy.rules)
    for (const { source } of policy.agents) {
      byAgent = byAgent.update(source, (before) => {
        let actions = before ?? NO_ACTIONS
        for (const [action, own] of ownByAction) {
          actions = actions.update(action, (rules) => nothingIfEmpty(change(rules ?? NO_RULES, own)))
        }
        return actions.isEmpty ? undefined : actions
      })
    }
    return new Candidates(byAgent, this.crowds)
  }

  private changeCrowds(policy: CompiledPolicy, actions: ActionIndex | null): Candidates {
    let crowds = this.crowds
    for (const { source } of policy.agents) {
      crowds = crowds.update(source, (before) => {
        const after = new Map(before)
        if (actions === null) after.delete(policy)
        else after.set(policy, actions)
        return after.size > 0 ? after : undefined
      })
    }
    return new Candidates(this.byAgent, crowds)
  }
}

/** The order in which policies are taken: highest priority first, then the lower id by UTF-16 code unit. */
export function comparePolicies(one: CompiledPolicy, other: CompiledPolicy): number {
  if (one.priority !== other.priority) return other.priority - one.priority
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0
}

function compareRules(one: CompiledRule, other: CompiledRule): number {
  return comparePolicies(one.policy, other.policy) || one.index - other.index
}

function hasManyAgents(policy: CompiledPolicy): boolean {
  return policy.agents.length > MANY_AGENTS
}

/** Sorted lists into one; a rule stands in several when several patterns of its policy match the agent. */
function mergeRules(lists: readonly (readonly CompiledRule[])[]): readonly CompiledRule[] {
  if (lists.length <= 1) return lists[0] ?? NO_RULES
  const sorted = lists.flat().sort(compareRules)
  return sorted.filter((rule, at) => rule !== sorted[at - 1])
}

function indexActions(rules: readonly CompiledRule[]): ActionIndex {
  return PatternIndex.of<readonly CompiledRule[]>(groupByAction(rules))
}

function groupByAction(rules: readonly CompiledRule[]): Map<string, CompiledRule[]> {
  const byAction = new Map<string, CompiledRule[]>()
  for (const rule of rules) byAction.set(rule.action.source, appendAll(byAction.get(rule.action.source) ?? [], [rule]))
  return byAction
}

function appendAll<T>(list: T[], items: readonly T[]): T[] {
  for (const item of items) list.push(item)
  return list
}

function nothingIfEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined
}

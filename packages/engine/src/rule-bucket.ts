import { matchesPattern } from '@countersign/contract'
import { type CompiledPolicy, type CompiledRule, comparePolicies } from './compiled-policy.js'
import { runToEnd } from './parts.js'
import { PatternIndex } from './pattern-index.js'

/** Up to this many rules, a scan is as fast as an index, which would take ten times the memory. */
const WALKED_RULES = 16

type ActionIndex = PatternIndex<readonly CompiledRule[]>

const NO_RULES: readonly CompiledRule[] = []

/** An immutable collection of rules, searched by action; results are in the order of evaluation. */
export class RuleBucket {
  private constructor(
    /** All rules, while there are few. */
    private readonly few: readonly CompiledRule[],
    /** Maps action patterns to rules, once there are many. */
    private readonly many: ActionIndex | null,
  ) {}

  static readonly EMPTY = new RuleBucket(NO_RULES, null)

  /** `rules` must be in the order of evaluation. */
  static of(rules: readonly CompiledRule[]): RuleBucket {
    return runToEnd(RuleBucket.inParts(rules))
  }

  /** {@link RuleBucket.of} for callers with other work to do between its parts. */
  static *inParts(rules: readonly CompiledRule[]): Generator<void, RuleBucket> {
    if (rules.length <= WALKED_RULES) return new RuleBucket(rules, null)
    return new RuleBucket(NO_RULES, yield* PatternIndex.inParts<readonly CompiledRule[]>(groupByAction(rules)))
  }

  get isEmpty(): boolean {
    return this.many === null ? this.few.length === 0 : this.many.isEmpty
  }

  /** Returns the rules whose action pattern matches, as a few lists. */
  find(action: string): readonly (readonly CompiledRule[])[] {
    if (this.many !== null) return this.many.find(action)
    const found = this.few.filter((rule) => matchesPattern(rule.action, action))
    return found.length > 0 ? [found] : []
  }

  with(policy: CompiledPolicy): RuleBucket {
    if (this.many === null) return RuleBucket.of(mergeRules([this.few, policy.rules]))
    return this.changeMany(this.many, policy, (rules, own) => mergeRules([rules, own]))
  }

  without(policy: CompiledPolicy): RuleBucket {
    const remove = (rules: readonly CompiledRule[]) => rules.filter((rule) => rule.policy !== policy)
    return this.many === null ? RuleBucket.of(remove(this.few)) : this.changeMany(this.many, policy, remove)
  }

  /** Changes each list that contains the policy's rules once; `own` are those of its rules that belong there. */
  private changeMany(
    index: ActionIndex,
    policy: CompiledPolicy,
    change: (rules: readonly CompiledRule[], own: readonly CompiledRule[]) => readonly CompiledRule[],
  ): RuleBucket {
    const byAction = groupByAction(policy.rules)
    const changed = index.update(byAction.keys(), (before, action) => {
      const after = change(before ?? NO_RULES, byAction.get(action) ?? NO_RULES)
      return after.length > 0 ? after : undefined
    })
    return new RuleBucket(NO_RULES, changed)
  }
}

/**
 * Merges lists in the order of evaluation; a rule is in several when several patterns of its policy match the agent.
 */
export function mergeRules(lists: readonly (readonly CompiledRule[])[]): readonly CompiledRule[] {
  if (lists.length <= 1) return lists[0] ?? NO_RULES
  const sorted = lists.flat().sort(compareRules)
  return sorted.filter((rule, at) => rule !== sorted[at - 1])
}

function compareRules(one: CompiledRule, other: CompiledRule): number {
  return comparePolicies(one.policy, other.policy) || one.index - other.index
}

function groupByAction(rules: readonly CompiledRule[]): Map<string, CompiledRule[]> {
  const byAction = new Map<string, CompiledRule[]>()
  for (const rule of rules) {
    const group = byAction.get(rule.action.source)
    if (group === undefined) byAction.set(rule.action.source, [rule])
    else group.push(rule)
  }
  return byAction
}

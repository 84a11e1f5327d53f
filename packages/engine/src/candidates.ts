import { type CompiledPolicy, type CompiledRule, comparePolicies } from './compiled-policy.js'
import { PatternIndex } from './pattern-index.js'
import { mergeRules, RuleBucket } from './rule-bucket.js'

/**
 * Above this many agent patterns, a policy's rules are indexed once for the policy and not under each of its agents.
 * Otherwise the index would grow with the product of agents and rules.
 */
const MANY_AGENTS = 16

/** Policies with many agents under one agent pattern, each with its own rules. */
type Crowd = ReadonlyMap<CompiledPolicy, RuleBucket>

/**
 * Finds the rules that can match a request by its agent and action: an immutable index over the rules of some policies.
 * A search costs a few look-ups plus the patterns with the same beginning, no matter how many policies exist. Adding or
 * removing a policy costs in proportion to its own agents and rules, and to the lists that contain them.
 */
export class Candidates {
  private constructor(
    private readonly byAgent: PatternIndex<RuleBucket>,
    private readonly crowds: PatternIndex<Crowd>,
  ) {}

  /** Yields between its parts. */
  static *inParts(policies: readonly CompiledPolicy[]): Generator<void, Candidates> {
    const byAgent = new Map<string, CompiledRule[]>()
    const crowds = new Map<string, Map<CompiledPolicy, RuleBucket>>()
    for (const policy of [...policies].sort(comparePolicies)) {
      const ownBucket = hasManyAgents(policy) ? yield* RuleBucket.inParts(policy.rules) : null
      for (const { source } of policy.agents) {
        if (ownBucket === null)
          appendAll(
            entryOf(byAgent, source, () => []),
            policy.rules,
          )
        else entryOf(crowds, source, () => new Map()).set(policy, ownBucket)
        yield
      }
    }
    const buckets = new Map<string, RuleBucket>()
    for (const [source, rules] of byAgent) {
      buckets.set(source, yield* RuleBucket.inParts(rules))
      yield
    }
    return new Candidates(yield* PatternIndex.inParts(buckets), yield* PatternIndex.inParts<Crowd>(crowds))
  }

  /**
   * Returns the rules whose policy applies to the agent and whose action pattern matches, in the order of evaluation.
   */
  find(agentId: string, action: string): readonly CompiledRule[] {
    const lists: (readonly CompiledRule[])[] = []
    for (const bucket of this.byAgent.find(agentId)) appendAll(lists, bucket.find(action))
    for (const crowd of this.crowds.find(agentId)) {
      for (const bucket of crowd.values()) appendAll(lists, bucket.find(action))
    }
    return mergeRules(lists)
  }

  with(policy: CompiledPolicy): Candidates {
    if (!hasManyAgents(policy)) return this.changeBuckets(policy, (bucket) => bucket.with(policy))
    const ownBucket = RuleBucket.of(policy.rules)
    return this.changeCrowds(policy, (crowd) => crowd.set(policy, ownBucket))
  }

  without(policy: CompiledPolicy): Candidates {
    if (!hasManyAgents(policy)) return this.changeBuckets(policy, (bucket) => bucket.without(policy))
    return this.changeCrowds(policy, (crowd) => crowd.delete(policy))
  }

  private changeBuckets(policy: CompiledPolicy, change: (bucket: RuleBucket) => RuleBucket): Candidates {
    const byAgent = this.byAgent.update(sourcesOf(policy), (before) => {
      const after = change(before ?? RuleBucket.EMPTY)
      return after.isEmpty ? undefined : after
    })
    return new Candidates(byAgent, this.crowds)
  }

  private changeCrowds(policy: CompiledPolicy, change: (crowd: Map<CompiledPolicy, RuleBucket>) => void): Candidates {
    const crowds = this.crowds.update(sourcesOf(policy), (before) => {
      const after = new Map(before)
      change(after)
      return after.size > 0 ? after : undefined
    })
    return new Candidates(this.byAgent, crowds)
  }
}

function sourcesOf({ agents }: CompiledPolicy): string[] {
  return agents.map(({ source }) => source)
}

function hasManyAgents(policy: CompiledPolicy): boolean {
  return policy.agents.length > MANY_AGENTS
}

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  const entry = map.get(key) ?? make()
  map.set(key, entry)
  return entry
}

function appendAll<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item)
}

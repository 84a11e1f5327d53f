import { Candidates } from './candidates.js'
import {
  type CompiledPolicy,
  type CompiledRule,
  comparePolicies,
  compilePolicy,
  compilePolicyInParts,
  type EnginePolicy,
} from './compiled-policy.js'
import { Memo } from './memo.js'
import { runToEnd } from './parts.js'
import { sharingPaths } from './path.js'
import { PersistentMap } from './persistent-map.js'

interface CandidateRules {
  readonly enforced: readonly CompiledRule[]
  readonly shadow: readonly CompiledRule[]
}

/**
 * An immutable set of compiled policies, indexed by agent and action. A write creates a new set, and the holder
 * replaces its reference; the old set stays valid. Only `size` is for callers; the rest belongs to the engine.
 */
export class PolicySet {
  private readonly memo = new Memo<CandidateRules>()

  /** @internal */
  constructor(
    private readonly policies: PersistentMap<CompiledPolicy>,
    private readonly enforced: Candidates,
    private readonly shadow: Candidates,
  ) {}

  /** How many policies are in the set, disabled and shadow ones too. */
  get size(): number {
    return this.policies.size
  }

  /** @internal All policies in the order of evaluation. */
  inOrder(): CompiledPolicy[] {
    return [...this.policies.values()].sort(comparePolicies)
  }

  /** @internal The rules that can match, in the order of evaluation. */
  candidates(agentId: string, action: string): CandidateRules {
    const known = this.memo.get(agentId, action)
    if (known !== undefined) return known
    const found = { enforced: this.enforced.find(agentId, action), shadow: this.shadow.find(agentId, action) }
    this.memo.set(agentId, action, found, found.enforced.length + found.shadow.length)
    return found
  }

  /**
   * @internal The enforced rules that can match, in the order of evaluation. Does not remember the agent and the
   *   action.
   */
  enforcedRules(agentId: string, action: string): readonly CompiledRule[] {
    return this.memo.get(agentId, action)?.enforced ?? this.enforced.find(agentId, action)
  }

  /** @internal */
  replace(id: string, policy: CompiledPolicy | undefined): PolicySet {
    const before = this.policies.get(id)
    return new PolicySet(
      this.policies.with(id, policy),
      changeCandidates(this.enforced, takesPart(before, 'enforce'), takesPart(policy, 'enforce')),
      changeCandidates(this.shadow, takesPart(before, 'shadow'), takesPart(policy, 'shadow')),
    )
  }
}

/**
 * Compiles validated policies into a set. Of two with the same id, the later one stays. The policies must not be
 * changed afterwards.
 */
export function compilePolicies(policies: Iterable<EnginePolicy>): PolicySet {
  return runToEnd(compileInParts(policies))
}

/** {@link compilePolicies} for callers with other work to do between its parts. */
export function* compileInParts(policies: Iterable<EnginePolicy>): Generator<void, PolicySet> {
  const compiled = new Map<string, CompiledPolicy>()
  const parsePath = sharingPaths()
  for (const policy of policies) {
    compiled.set(policy.id, yield* compilePolicyInParts(policy, parsePath))
  }
  const all = [...compiled.values()]
  return new PolicySet(
    yield* PersistentMap.inParts(compiled),
    yield* Candidates.inParts(all.filter((policy) => takesPart(policy, 'enforce') !== undefined)),
    yield* Candidates.inParts(all.filter((policy) => takesPart(policy, 'shadow') !== undefined)),
  )
}

/**
 * Returns a set to which this policy is added, or in which it replaces the one with its id. Compiles this policy alone:
 * the cost depends on its own agents and rules and on the rules that share their patterns, not on the size of the set.
 */
export function withPolicy(set: PolicySet, policy: EnginePolicy): PolicySet {
  return set.replace(policy.id, compilePolicy(policy, sharingPaths()))
}

/** Returns a set without the policy of this id; an unknown id changes nothing. Costs the same as {@link withPolicy}. */
export function withoutPolicy(set: PolicySet, id: string): PolicySet {
  return set.replace(id, undefined)
}

function takesPart(policy: CompiledPolicy | undefined, mode: CompiledPolicy['mode']): CompiledPolicy | undefined {
  return policy?.enabled && policy.mode === mode ? policy : undefined
}

function changeCandidates(
  candidates: Candidates,
  before: CompiledPolicy | undefined,
  after: CompiledPolicy | undefined,
): Candidates {
  const remaining = before === undefined ? candidates : candidates.without(before)
  return after === undefined ? remaining : remaining.with(after)
}

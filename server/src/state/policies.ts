import { compilePolicies, type EnginePolicy, type PolicySet, withoutPolicy, withPolicy } from '@countersign/engine'
import type { StoredPolicy } from '../ports/store/documents.js'

interface LoadedPolicies {
  readonly policy_set: number
  readonly policies: readonly StoredPolicy[]
}

/** The compiled policies that are not deleted. A write replaces the whole set, so one evaluation sees one set. */
export class Policies {
  private byId = new Map<string, StoredPolicy>()
  private compiled: PolicySet = compilePolicies([])
  private counter = 0

  constructor(loaded: LoadedPolicies) {
    this.load(loaded)
  }

  /** Replaces the policies with those of the store. */
  load(loaded: LoadedPolicies): void {
    this.byId = new Map(loaded.policies.map((policy) => [policy.id, policy]))
    this.compiled = compilePolicies(loaded.policies.map(toEnginePolicy))
    this.counter = loaded.policy_set
  }

  get set(): PolicySet {
    return this.compiled
  }
  /** The number of the set; every policy write increments it. */
  get policySet(): number {
    return this.counter
  }
  get size(): number {
    return this.byId.size
  }

  find(id: string): StoredPolicy | undefined {
    return this.byId.get(id)
  }

  named(name: string): StoredPolicy | undefined {
    for (const policy of this.byId.values()) if (policy.document.name === name) return policy
    return undefined
  }

  /** Yields all policies except one: lint compares that one with them. */
  *others(id: string | null): Iterable<EnginePolicy> {
    for (const policy of this.byId.values()) if (policy.id !== id) yield toEnginePolicy(policy)
  }

  /** Applies a durable write. */
  apply(policy: StoredPolicy): void {
    if (policy.deleted_at === null) {
      this.compiled = withPolicy(this.compiled, toEnginePolicy(policy))
      this.byId.set(policy.id, policy)
    } else {
      this.compiled = withoutPolicy(this.compiled, policy.id)
      this.byId.delete(policy.id)
    }
    this.counter = policy.policy_set
  }
}

export function toEnginePolicy(policy: StoredPolicy): EnginePolicy {
  return { ...policy.document, id: policy.id, revision: policy.version }
}

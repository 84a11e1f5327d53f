/** Some 10,000 pairs of agent and action with a few rules each: several megabytes. */
const CAPACITY = 100_000
const PAIR_WEIGHT = 8

/**
 * Remembers a value per agent and action. Bounded by the weight of what it holds, because a caller can invent agents and
 * actions: when full it forgets everything and begins anew.
 */
export class Memo<V> {
  private byAgent = new Map<string, Map<string, V>>()
  private weight = 0

  get(agentId: string, action: string): V | undefined {
    return this.byAgent.get(agentId)?.get(action)
  }

  /** `weight` is the number of entries that the value itself holds. A value too heavy to be worth it is not kept. */
  set(agentId: string, action: string, value: V, weight: number): void {
    if (weight + PAIR_WEIGHT > CAPACITY) return
    if (this.weight + weight + PAIR_WEIGHT > CAPACITY) this.clear()
    this.weight += weight + PAIR_WEIGHT
    const byAction = this.byAgent.get(agentId) ?? new Map<string, V>()
    this.byAgent.set(agentId, byAction.set(action, value))
  }

  private clear(): void {
    this.byAgent = new Map()
    this.weight = 0
  }
}

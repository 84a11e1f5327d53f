/** In bytes, by and large: some 15,000 pairs of agent and action with a few rules each. */
const CAPACITY = 8 * 1024 * 1024
/** What a pair costs by itself, its texts and its value aside. */
const PAIR_BYTES = 500
const CHARACTER_BYTES = 2
const ENTRY_BYTES = 8

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

  /** `entries` is the number of entries that the value itself holds. A pair too heavy to be worth it is not kept. */
  set(agentId: string, action: string, value: V, entries: number): void {
    const weight = PAIR_BYTES + CHARACTER_BYTES * (agentId.length + action.length) + ENTRY_BYTES * entries
    if (weight > CAPACITY) return
    if (this.weight + weight > CAPACITY) this.clear()
    this.weight += weight
    const byAction = this.byAgent.get(agentId)
    if (byAction !== undefined) byAction.set(detached(action), value)
    else this.byAgent.set(detached(agentId), new Map([[detached(action), value]]))
  }

  private clear(): void {
    this.byAgent = new Map()
    this.weight = 0
  }
}

/** The same text in memory of its own: a text that was cut out of a request would keep the whole request. */
function detached(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** In bytes, roughly: some 15,000 pairs of agent and action with a few rules each. */
const CAPACITY = 8 * 1024 * 1024
/** The cost of a pair, without its texts and its value. */
const PAIR_BYTES = 500
const CHARACTER_BYTES = 2
const ENTRY_BYTES = 8

/**
 * Remembers a value per agent and action. Its size is bounded, because a caller can invent agents and actions: when it
 * is full, it drops everything and starts over.
 */
export class Memo<V> {
  private byAgent = new Map<string, Map<string, V>>()
  private weight = 0

  get(agentId: string, action: string): V | undefined {
    return this.byAgent.get(agentId)?.get(action)
  }

  /** `entries` is the number of entries in the value itself. Pairs that are too large are not kept. */
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

/** Copies the text: a substring of a request would keep the whole request in memory. */
function detached(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

import type { StoredAgent } from '@countersign/store-port/documents'

/** The agents that are registered or suspended: all that a decision needs to know of them. */
export class Agents {
  private byId = new Map<string, StoredAgent>()

  constructor(loaded: readonly StoredAgent[]) {
    this.load(loaded)
  }

  /** Takes over what the store holds. */
  load(loaded: readonly StoredAgent[]): void {
    this.byId = new Map(loaded.map((agent) => [agent.id, agent]))
  }

  find(id: string): StoredAgent | undefined {
    return this.byId.get(id)
  }

  isSuspended(id: string): boolean {
    return (this.byId.get(id)?.suspended ?? null) !== null
  }

  /** Makes a durable write count from now on. */
  apply(agent: StoredAgent): void {
    if (agent.registration === null && agent.suspended === null) this.byId.delete(agent.id)
    else this.byId.set(agent.id, agent)
  }
}

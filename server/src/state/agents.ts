import type { StoredAgent } from '../ports/store/documents.js'

/** The agents that are registered or suspended. Decisions need no others. */
export class Agents {
  private byId = new Map<string, StoredAgent>()

  constructor(loaded: readonly StoredAgent[]) {
    this.load(loaded)
  }

  /** Replaces the agents with those of the store. */
  load(loaded: readonly StoredAgent[]): void {
    this.byId = new Map(loaded.map((agent) => [agent.id, agent]))
  }

  find(id: string): StoredAgent | undefined {
    return this.byId.get(id)
  }

  isSuspended(id: string): boolean {
    return (this.byId.get(id)?.suspended ?? null) !== null
  }

  /** Applies a durable write. */
  apply(agent: StoredAgent): void {
    if (agent.registration === null && agent.suspended === null) this.byId.delete(agent.id)
    else this.byId.set(agent.id, agent)
  }
}

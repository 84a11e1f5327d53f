import type { LastSeen, StoredAgent } from './documents.js'
import type { Page, PageRequest } from './page.js'

export interface AgentWithLastSeen {
  readonly agent: StoredAgent
  readonly lastSeen: LastSeen
}

export interface AgentStore {
  /** Loads the agents that are registered or suspended. */
  load(): Promise<readonly StoredAgent[]>
  /**
   * Returns any agent that the store knows, even one that was deleted before it was seen: its `last_revision` is kept.
   */
  get(id: string): Promise<AgentWithLastSeen | null>
  /** Lists the agents that are registered, suspended or seen; `agents` as in DecisionFilter. */
  list(agents: readonly string[] | null, page: PageRequest): Promise<Page<AgentWithLastSeen>>
  /** Lists the agents that were ever registered or suspended, in the order of their ids. */
  listWritten(page: PageRequest): Promise<Page<StoredAgent>>
  /** Returns the metadata that a registration had at a revision. */
  getMetadata(id: string, revision: number): Promise<StoredAgent['registration']>
}

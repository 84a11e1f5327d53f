import type { Connection } from './driver.js'
import { markSeen } from './tables/agents.js'

/** When the decisions of a group saw their agents: summed up, so that each agent is written once. */
export class Sightings {
  readonly #byAgent = new Map<string, { known: string; first: string; last: string }>()

  add({ agent_id, at }: { readonly agent_id: string; readonly at: string }): void {
    const seen = this.#byAgent.get(agent_id)
    if (seen === undefined) this.#byAgent.set(agent_id, { known: at, first: at, last: at })
    else if (at < seen.first) seen.first = at
    else if (at > seen.last) seen.last = at
  }

  /** Afterwards nothing is left to write. */
  write(db: Connection): void {
    for (const [agent_id, seen] of this.#byAgent) markSeen(db, { agent_id, ...seen })
    this.#byAgent.clear()
  }
}

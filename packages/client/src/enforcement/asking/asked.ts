import type { JsonObject } from '../../wire.js'

/** The action that is about to happen. The options of asking are separate. */
export interface GuardRequest<Context extends JsonObject | null = JsonObject | null> {
  /** Default: the client's `agentId`. */
  readonly agent_id?: string | undefined
  readonly action: string
  readonly resource?: string | null | undefined
  /** Plain JSON. Anything else, such as a date, a map, a big integer or something circular, is refused and not converted. */
  readonly context?: Context | undefined
}

/** What was asked about: a separate copy, frozen at every depth. */
export interface Asked<Context extends JsonObject | null = JsonObject | null> {
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  /** Null when there was none. */
  readonly context: Context
}

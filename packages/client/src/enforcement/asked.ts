import type { JsonObject } from '../wire.js'

/** What is about to be done. What steers the asking is beside it. */
export interface GuardRequest {
  /** Default: the client's `agentId`. */
  readonly agent_id?: string | undefined
  readonly action: string
  readonly resource?: string | null | undefined
  readonly context?: JsonObject | null | undefined
}

/** What was asked about: a copy of its own, frozen at every depth. */
export interface Asked {
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  /** Empty when nothing was given. */
  readonly context: JsonObject
}

import type { JsonObject } from '@countersign/contract'

/** A request as the contract package has validated it. */
export interface EngineRequest {
  readonly agent_id: string
  readonly action: string
  /** `type:id`, or null when the action is not about one resource. */
  readonly resource: string | null
  /** Facts given by the caller; they are untrusted, and only own properties are read. */
  readonly context: JsonObject | null
}

/** The facts that the decision point itself knows at the moment of evaluation. */
export interface Facts {
  /** The clock that `now.hour` and `now.weekday` read, in UTC. */
  readonly now: Date
  /** Whether the agent is suspended: then the answer is deny before any policy is read. */
  readonly suspended: boolean
  /** The metadata that `agent.…` paths read; null when the agent is not registered. */
  readonly metadata: JsonObject | null
}

import type { JsonObject } from '@countersign/contract'

/** What is asked, as the contract package has validated it. */
export interface EngineRequest {
  readonly agent_id: string
  readonly action: string
  /** `type:id`, or null when the action is not about one resource. */
  readonly resource: string | null
  /** Facts given by the caller; they are not trusted and are read by own property only. */
  readonly context: JsonObject | null
}

/** What the decision point itself knows at the moment of evaluation. */
export interface Facts {
  /** The clock behind `now.hour` and `now.weekday`, read in UTC. */
  readonly now: Date
  /** Whether the agent is suspended: then the answer is deny before any policy is looked at. */
  readonly suspended: boolean
  /** The metadata behind `agent.…` paths; null when the agent is not registered. */
  readonly metadata: JsonObject | null
}

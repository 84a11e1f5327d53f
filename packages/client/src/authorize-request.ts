import type { IdempotentCallOptions } from './options.js'
import type { DecisionRequest } from './wire.js'

/** The question with the options of the call: members in snake_case go on the wire, those in camelCase do not. */
export interface AuthorizeRequest extends Omit<DecisionRequest, 'agent_id'>, IdempotentCallOptions {
  /** Default: the client's `agentId`; another one than that is refused. Needed when the client has none. */
  readonly agent_id?: string | undefined
}

import type { EventsOptions } from '@countersign/client'
import { followEvents } from './follow-events.js'
import { jsonLine, terminalColors } from './shown-text.js'
import { tailLine } from './tail-line.js'

export interface TailOptions {
  readonly url?: string
  readonly json?: boolean
  readonly agent?: string
  readonly action?: string
  readonly resource?: string
  readonly effect?: string
  readonly status?: string
  readonly policy?: string
  readonly requestHash?: string
  readonly type?: string
}

/** Prints one line for each new change of a decision, until a signal arrives. */
export function tail(options: TailOptions): Promise<number> {
  const colors = terminalColors()
  return followEvents({
    url: options.url,
    filters: filtersOf(options),
    follow: (event, { print }) => print(options.json ? jsonLine(event) : tailLine(event, colors)),
  })
}

/** The server refuses an invalid value, and names it. */
function filtersOf({ agent, action, resource, effect, status, policy, requestHash, type }: TailOptions): EventsOptions {
  const filters = {
    agent_id: agent,
    action,
    resource,
    effect,
    status,
    policy_id: policy,
    request_hash: requestHash,
    type,
  }
  return filters as EventsOptions
}

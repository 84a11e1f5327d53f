import { isRecord } from './answer.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { ownMembers } from './own-members.js'
import type { Capabilities, CapabilitiesRequest } from './wire.js'

/** Asks about the capabilities of an agent for some actions. */
export interface CapabilitiesQuestion extends Omit<CapabilitiesRequest, 'agent_id'> {
  /** Default: the client's `agentId`; any other agent is refused. Required when the client has none. */
  readonly agent_id?: string | undefined
}

/**
 * Reads the answer, which must be about this agent and exactly these actions. Unknown effects are kept: they are not a
 * deny.
 *
 * @throws UnavailableError (`bad_answer`)
 */
export function readCapabilities(call: string, answer: unknown, asked: CapabilitiesRequest): Capabilities {
  if (isAbout(answer, asked)) return answer
  throw new UnavailableError('bad_answer', `${call}: the answer is not about this agent and these actions`)
}

function isAbout(answer: unknown, { agent_id, actions }: CapabilitiesRequest): answer is Capabilities {
  if (!isRecord(answer)) return false
  const given = ownMembers(answer)
  return (
    given.agent_id === agent_id &&
    Array.isArray(given.data) &&
    given.data.length === actions.length &&
    given.data.every((one, at) => isRecord(one) && isOf(ownMembers(one), actions[at]))
  )
}

function isOf({ action, effects }: Readonly<Record<string, unknown>>, asked: string | undefined): boolean {
  return (
    action === asked && Array.isArray(effects) && effects.length > 0 && effects.every((one) => typeof one === 'string')
  )
}

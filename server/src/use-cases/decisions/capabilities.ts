import type { Capabilities, CapabilitiesRequest } from '@countersign/contract'
import { capabilitiesInParts } from '@countersign/engine'
import { assertMaySpeakFor, type Caller } from '../../caller.js'
import type { Agents } from '../../state/agents.js'
import type { Policies } from '../../state/policies.js'
import { inParts } from '../in-parts.js'
import { knownOf } from './facts.js'

export interface CapabilitiesDeps {
  readonly agents: Agents
  readonly policies: Policies
  readonly maxEvaluationSteps: number
}

/**
 * Lists the effects that an agent can get for each action under the current policies, metadata and suspensions. It
 * decides and records nothing, and does not mark the agent as seen.
 *
 * @param pause awaited between the parts of the work
 * @throws DomainError agent_not_allowed
 *
 * Source: docs/decisions.md "What an agent can ever get"
 */
export async function listCapabilities(
  deps: CapabilitiesDeps,
  caller: Caller,
  { agent_id, actions }: CapabilitiesRequest,
  pause: () => Promise<void>,
): Promise<Capabilities> {
  assertMaySpeakFor(caller, agent_id)
  const agent = { agent_id, ...knownOf(deps.agents.find(agent_id)) }
  const parts = capabilitiesInParts(deps.policies.set, agent, actions, deps.maxEvaluationSteps)
  return { agent_id, data: await inParts(parts, pause) }
}

import { agentState } from '@countersign/audit-log'
import type { Agent, AgentUpdate, JsonObject } from '@countersign/contract'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Ids } from '../../ports/ids.js'
import type { StoredAgent } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import type { Agents } from '../../state/agents.js'
import type { Changes } from '../../state/changes.js'
import type { ChangingCall } from '../idempotency.js'
import { unknownAgent, viewAgent } from './view.js'

export interface ChangeAgentDeps {
  readonly clock: Clock
  readonly agents: Agents
  readonly store: Pick<Store, 'agents'>
  readonly writer: MutationWriter
  /** Runs changes of agents one at a time. */
  readonly changes: Changes
  readonly ids: Pick<Ids, 'salt'>
}

interface Change {
  readonly type: 'agent.created' | 'agent.updated' | 'agent.deleted' | 'agent.suspended' | 'agent.resumed'
  /** The changed agent; null when nothing changes: then only the audit entry is written. */
  readonly next: Omit<StoredAgent, 'version'> | null
  /** Data for the audit entry, added to the state after the change. */
  readonly data?: JsonObject
}

/** Writes one change of an agent, whether or not the agent ever asked. It applies from the next request on. */
export function changeAgent(
  deps: ChangeAgentDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
  changeOf: (present: StoredAgent, now: string) => Change,
): Promise<Agent> {
  return deps.changes.run(caller.key.id, async () => {
    const now = deps.clock.now().toISOString()
    const { agent: present, lastSeen } = (await deps.store.agents.get(id)) ?? unknownAgent(id, now)
    const { type, next, data } = changeOf(present, now)
    const agent = next === null ? present : { ...next, version: present.version + 1 }
    await deps.writer.write({
      entry: {
        at: now,
        type,
        actor: caller.key.id,
        subject: id,
        agent_id: id,
        trace_id: caller.traceId,
        data: { ...data, ...agentState({ ...agent }) },
      },
      change:
        next === null ? { kind: 'entry.only' } : { kind: 'agent.write', agent, expected_version: present.version },
      idempotency: idempotency?.recordOf(id, now) ?? null,
    })
    if (next !== null) deps.agents.apply(agent)
    return viewAgent({ agent, lastSeen })
  })
}

/** Returns the agent with its next registration. Absent members become empty. */
export function withRegistration(
  present: StoredAgent,
  { name, description, metadata }: AgentUpdate,
  createdAt: string,
  salt: string,
): Pick<Change, 'next'> {
  const revision = present.last_revision + 1
  const registration = {
    revision,
    name: name ?? null,
    description: description ?? null,
    metadata: metadata ?? {},
    created_at: createdAt,
    salt,
  }
  return { next: { ...present, registration, last_revision: revision } }
}

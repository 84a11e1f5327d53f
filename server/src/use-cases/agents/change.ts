import type { Agent, AgentUpdate, JsonObject } from '@countersign/contract'
import type { StoredAgent } from '@countersign/store-port/documents'
import type { Store } from '@countersign/store-port/store'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Agents } from '../../state/agents.js'
import type { Changes } from '../../state/changes.js'
import type { ChangingCall } from '../idempotency.js'
import { unknownAgent, viewAgent } from './view.js'

export interface ChangeAgentDeps {
  readonly clock: Clock
  readonly agents: Agents
  readonly store: Pick<Store, 'findAgent'>
  readonly writer: MutationWriter
  /** Changes of agents happen one after the other. */
  readonly changes: Changes
}

interface Change {
  readonly type: 'agent.created' | 'agent.updated' | 'agent.deleted' | 'agent.suspended' | 'agent.resumed'
  /** The changed agent; null when nothing changes: then only the audit entry is written. */
  readonly next: Omit<StoredAgent, 'version'> | null
  readonly data: JsonObject
}

/** Writes one change of an agent, seen or not. The next request sees it. */
export function changeAgent(
  deps: ChangeAgentDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
  changeOf: (present: StoredAgent, now: string) => Change,
): Promise<Agent> {
  return deps.changes.run(caller.key.id, async () => {
    const now = deps.clock.now().toISOString()
    const { agent: present, lastSeen } = (await deps.store.findAgent(id)) ?? unknownAgent(id, now)
    const { type, next, data } = changeOf(present, now)
    const agent = next === null ? present : { ...next, version: present.version + 1 }
    await deps.writer.write({
      entry: { at: now, type, actor: caller.key.id, subject: id, agent_id: id, data },
      change: () =>
        next === null ? { kind: 'entry.only' } : { kind: 'agent.write', agent, expected_version: present.version },
      idempotency: idempotency?.recordOf(id, now) ?? null,
    })
    if (next !== null) deps.agents.apply(agent)
    return viewAgent({ agent, lastSeen })
  })
}

/** The agent with its next registration. Absent members become empty. */
export function withRegistration(
  present: StoredAgent,
  { name, description, metadata }: AgentUpdate,
  createdAt: string,
): Pick<Change, 'next' | 'data'> {
  const revision = present.last_revision + 1
  const registration = {
    revision,
    name: name ?? null,
    description: description ?? null,
    metadata: metadata ?? {},
    created_at: createdAt,
  }
  return { next: { ...present, registration, last_revision: revision }, data: { revision } }
}

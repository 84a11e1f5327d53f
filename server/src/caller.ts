import { patternTest, type Scope } from '@countersign/contract'
import type { StoredKey } from '@countersign/store-port/documents'
import { DomainError } from './domain-error.js'

/** Who calls: the API key that a request was authenticated with. */
export interface Caller {
  readonly key: StoredKey
  /** Whether what this process knew of policies, agents and keys when the caller was identified still counts. */
  readonly holds: () => boolean
  /**
   * To be said once a record is durable that left while it counted: what it tells is so from then on, and an answer that
   * called it undone would make the caller do it twice.
   */
  readonly recorded: () => void
}

export function hasScope(caller: Pick<Caller, 'key'>, scope: Scope): boolean {
  return caller.key.scopes.includes(scope) || caller.key.scopes.includes('*')
}

/** Whether decisions of the agent exist for the caller at all. */
export function maySpeakFor(caller: Pick<Caller, 'key'>, agentId: string): boolean {
  const { agents } = caller.key
  return agents === null || testOf(agents)(agentId)
}

type AgentTest = (agentId: string) => boolean

/** Forgotten with the keys that hold the lists. */
const compiled = new WeakMap<readonly string[], AgentTest>()

function testOf(agents: readonly string[]): AgentTest {
  const known = compiled.get(agents)
  if (known !== undefined) return known
  const made = patternTest(agents)
  compiled.set(agents, made)
  return made
}

/** @throws DomainError agent_not_allowed */
export function assertMaySpeakFor(caller: Caller, agentId: string): void {
  if (!maySpeakFor(caller, agentId))
    throw new DomainError('agent_not_allowed', { detail: 'The key is bound to other agents.' })
}

import { patternTest, type Scope } from '@countersign/contract'
import { DomainError } from './domain-error.js'
import type { StoredKey } from './ports/store/documents.js'

/** The caller of a request: the API key that authenticated it. */
export interface Caller {
  readonly key: StoredKey
  /** The trace of the request, from its `traceparent`; null without a valid one. Chosen by the caller: it proves nothing. */
  readonly traceId: string | null
  /** Whether the policies, agents and keys that this process knew when it authenticated the caller are still current. */
  readonly holds: () => boolean
  /**
   * Call this once a record is durable that was sent while `holds` was true. From then on the answer is sent even if
   * memory becomes stale: an answer that denied the record would make the caller repeat it.
   */
  readonly recorded: () => void
}

export function hasScope(caller: Pick<Caller, 'key'>, scope: Scope): boolean {
  return caller.key.scopes.includes(scope) || caller.key.scopes.includes('*')
}

/** Whether the caller may see and ask for decisions of the agent. */
export function maySpeakFor(caller: Pick<Caller, 'key'>, agentId: string): boolean {
  const { agents } = caller.key
  return agents === null || testOf(agents)(agentId)
}

type AgentTest = (agentId: string) => boolean

/** An entry lives as long as the key that contains the list. */
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

import type { Scope } from '@countersign/contract'
import { matchesPattern } from '@countersign/engine'
import { DomainError } from './domain-error.js'
import type { StoredKey } from './ports/documents.js'

/** Who calls: the API key that a request was authenticated with. */
export interface Caller {
  readonly key: StoredKey
}

export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.key.scopes.includes(scope) || caller.key.scopes.includes('*')
}

/** Whether decisions of the agent exist for the caller at all. */
export function maySpeakFor(caller: Caller, agentId: string): boolean {
  return caller.key.agents === null || caller.key.agents.some((pattern) => matchesPattern(pattern, agentId))
}

/** @throws DomainError agent_not_allowed */
export function assertMaySpeakFor(caller: Caller, agentId: string): void {
  if (!maySpeakFor(caller, agentId))
    throw new DomainError('agent_not_allowed', { detail: 'The key is bound to other agents than the one asked for.' })
}

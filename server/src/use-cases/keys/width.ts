import type { Scope } from '@countersign/contract'
import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'

interface Reach {
  readonly scopes: readonly Scope[]
  readonly agents: readonly string[] | null
  readonly expires_at: string | null
}

/**
 * Checks that a key acts only on keys with at most its own rights. Otherwise it could extend its rights.
 *
 * @throws DomainError key_too_wide
 */
export function assertNoWider(caller: Caller, target: Reach): void {
  const scope = target.scopes.find((one) => !hasScope(caller, one))
  if (scope !== undefined) throw tooWide(`The calling key lacks the scope ${scope}.`)
  if (caller.key.agents !== null) throw tooWide('The calling key is bound to agents.')
  const end = caller.key.expires_at
  if (end !== null && (target.expires_at === null || target.expires_at > end))
    throw tooWide(`The calling key expires at ${end}, before the other key.`)
}

function tooWide(detail: string): DomainError {
  return new DomainError('key_too_wide', { detail })
}

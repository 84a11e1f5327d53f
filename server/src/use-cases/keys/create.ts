import type { ApiKey, KeyCreate } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { invalid } from '../../domain-error.js'
import type { Ids } from '../../ports/ids.js'
import type { KeySecret } from '../../ports/store/documents.js'
import type { ChangingCall } from '../idempotency.js'
import { viewKey } from './view.js'
import { assertNoWider } from './width.js'
import { type WriteKeyDeps, writeNewKey } from './write.js'

export type CreateKeyDeps = WriteKeyDeps & { readonly ids: Ids }

/** A key with this secret exists, revoked or not. */
export class SecretTakenError extends Error {
  override readonly name = 'SecretTakenError'
}

/** The call of the operator on the server's machine. */
export const OPERATOR = { caller: null, idempotency: null }

/**
 * Creates an API key. Only its owner knows the secret: the store holds the hash.
 *
 * @param call a call of the operator may create any key
 * @throws DomainError validation_failed (expires_at is not in the future), key_too_wide
 * @throws SecretTakenError
 */
export function createKey(
  deps: CreateKeyDeps,
  { caller, idempotency }: ChangingCall | typeof OPERATOR,
  request: KeyCreate,
  secret: KeySecret,
): Promise<ApiKey> {
  return deps.changes.run(caller?.key.id ?? null, async () => {
    const now = deps.clock.now().toISOString()
    if (deps.keys.hasSecret(secret.hash)) throw new SecretTakenError('A key with this secret already exists.')
    assertCreatable(deps, caller, request)
    const id = deps.ids.next('key')
    const made = { id, name: request.name, ...reachOf(request), created_at: now, created_by: caller?.key.id ?? null }
    const change = { idempotency: idempotency?.recordOf(id, now) ?? null, traceId: caller?.traceId ?? null }
    const key = await writeNewKey(deps, { ...made, secrets: [secret] }, change)
    return viewKey(key, deps.keys)
  })
}

/** @throws DomainError validation_failed (expires_at is not in the future), key_too_wide */
export function assertCreatable(deps: Pick<CreateKeyDeps, 'clock'>, caller: Caller | null, request: KeyCreate): void {
  const reach = reachOf(request)
  if (reach.expires_at !== null && reach.expires_at <= deps.clock.now().toISOString())
    throw invalid([{ pointer: '/expires_at', detail: 'must be in the future' }])
  if (caller !== null) assertNoWider(caller, reach)
}

function reachOf({ scopes, agents, expires_at }: KeyCreate) {
  return { scopes: [...new Set(scopes)], agents: agents ?? null, expires_at: expires_at ?? null }
}

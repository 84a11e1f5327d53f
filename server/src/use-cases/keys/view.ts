import type { ApiKey } from '@countersign/contract'
import type { StoredKey } from '@countersign/store-port/documents'
import type { Keys } from '../../state/keys.js'

/** An API key as the API shows it, without its secret. */
export function viewKey(key: StoredKey, keys: Pick<Keys, 'lastUsed'>): ApiKey {
  return {
    id: key.id,
    name: key.name,
    scopes: [...key.scopes],
    agents: key.agents === null ? null : [...key.agents],
    created_at: key.created_at,
    created_by: key.created_by,
    expires_at: key.expires_at,
    revoked_at: key.revoked_at,
    last_used_at: keys.lastUsed(key.id),
    hint: (key.secrets[0] as { hint: string }).hint,
  }
}

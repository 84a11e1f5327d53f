import { type ApiKey, type EventKey, LIMITS } from '@countersign/contract'
import type { StoredKey } from '../../ports/store/documents.js'
import type { Keys } from '../../state/keys.js'
import { firstWithin } from '../first-within.js'

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

/** An API key as events show it: a new one, never used, and with a bounded list of agents. */
export function viewEventKey(key: StoredKey): EventKey {
  const view = viewKey(key, { lastUsed: () => null })
  const { first, omitted } = firstWithin(view.agents ?? [], LIMITS.eventLargestBytes)
  return { ...view, ...(omitted > 0 && { agents: first, agents_omitted: omitted }) }
}

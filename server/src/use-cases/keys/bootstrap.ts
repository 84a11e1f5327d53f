import { generateKeyText, secretOf } from '../../api-key-text.js'
import { type WriteKeyDeps, writeKey } from './write.js'

/** The id of every store's first key: of several processes that find the store empty, one can make it. */
const FIRST_KEY_ID = 'key_01kdvdna00f10v518hhh66e416'

/** Where the operator finds a text that was made. */
export interface FirstKeyPlace {
  readonly leave: (text: string) => Promise<void>
  /** The text opens nothing: another process made the first key. */
  readonly withdraw: (text: string) => Promise<void>
}

/**
 * Gives an empty store its first key, which may do everything. A store that has keys is left alone.
 *
 * @param chosen the text that the operator chose, null to make one
 * @param place gets the text before the key counts, so that a crash loses none
 * @returns the text that was made; null when there was nothing to make
 */
export async function bootstrapKey(
  deps: WriteKeyDeps,
  chosen: string | null,
  place: FirstKeyPlace,
): Promise<string | null> {
  if (deps.keys.size > 0) return null
  const text = chosen ?? generateKeyText()
  if (chosen === null) await place.leave(text)
  const isMade = await deps.changes.run(null, () => writeFirstKey(deps, text))
  if (chosen !== null) return null
  if (isMade) return text
  await place.withdraw(text)
  return null
}

/** False when there is one already. */
async function writeFirstKey(deps: WriteKeyDeps, text: string): Promise<boolean> {
  if (deps.keys.size > 0) return false
  const at = deps.clock.now().toISOString()
  const reach = { scopes: ['*' as const], agents: null, expires_at: null }
  const key = {
    id: FIRST_KEY_ID,
    version: 1,
    name: 'bootstrap',
    ...reach,
    created_at: at,
    created_by: null,
    revoked_at: null,
    secrets: [secretOf(text)],
  }
  const data = { name: key.name, ...reach }
  await writeKey(deps, key, { type: 'key.created', actor: null, at, data, idempotency: null })
  return true
}

import { generateKeyText, secretOf } from '../../api-key-text.js'
import { type CreateKeyDeps, createKey } from './create.js'

/**
 * Gives an empty store its first key, which may do everything. A store that has keys is left alone.
 *
 * @param chosen the text that the operator chose, null to make one
 * @param leave puts a text that was made where the operator finds it; before the key counts, so that a crash loses none
 * @returns the text that was made; null when there was nothing to make
 */
export async function bootstrapKey(
  deps: CreateKeyDeps,
  chosen: string | null,
  leave: (text: string) => Promise<void>,
): Promise<string | null> {
  if (deps.keys.size > 0) return null
  const text = chosen ?? generateKeyText()
  if (chosen === null) await leave(text)
  await createKey(deps, null, { name: 'bootstrap', scopes: ['*'] }, secretOf(text), null)
  return chosen === null ? text : null
}

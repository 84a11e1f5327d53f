import { generateKeyText, secretOf } from '../../api-key-text.js'
import { type WriteKeyDeps, writeNewKey } from './write.js'

/** The id of the first key of every store. When several processes find the store empty, only one can create it. */
const FIRST_KEY_ID = 'key_01kdvdna00f10v518hhh66e416'

export interface BootstrapDeps extends WriteKeyDeps {
  /** Repeats the write until the store says whether it was done. */
  readonly patiently: <T>(write: () => Promise<T>) => Promise<T>
}

/** The file in which the operator finds a generated key. */
export interface FirstKeyFile {
  readonly leave: (text: string) => Promise<void>
  /** Removes the text, because another process created the first key. */
  readonly withdraw: (text: string) => Promise<void>
}

/**
 * Creates the first key of an empty store, with every scope. Does nothing when the store has keys.
 *
 * @param chosen the text that the operator chose; null to generate one
 * @param file gets the text before the key is valid, so that a crash does not lose it
 * @returns the generated text; null when none was generated
 */
export async function bootstrapKey(
  deps: BootstrapDeps,
  chosen: string | null,
  file: FirstKeyFile,
): Promise<string | null> {
  if (deps.keys.size > 0) return null
  const text = chosen ?? generateKeyText()
  if (chosen === null) await file.leave(text)
  const isMade = await deps.patiently(() => deps.changes.run(null, () => writeFirstKey(deps, text)))
  if (chosen !== null) return null
  if (isMade) return text
  await file.withdraw(text)
  return null
}

/** Returns false when another process has created the first key. */
async function writeFirstKey(deps: WriteKeyDeps, text: string): Promise<boolean> {
  const secret = secretOf(text)
  if (deps.keys.size > 0) return deps.keys.hasSecret(secret.hash)
  await writeNewKey(deps, {
    id: FIRST_KEY_ID,
    name: 'bootstrap',
    scopes: ['*'],
    agents: null,
    expires_at: null,
    created_at: deps.clock.now().toISOString(),
    created_by: null,
    secrets: [secret],
  })
  return true
}

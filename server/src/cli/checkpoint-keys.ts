import { KeyFileError } from '../adapters/keyring/key-file.js'
import { findKeyring, type KeyringOptions } from '../adapters/keyring/keyring.js'
import type { Replicas } from '../ports/store/replicas.js'
import { publishedCheckpointKeys } from '../state/shared-signing-keys.js'

/**
 * Returns the public keys, in base64url, that the server of a data directory, or another one on its store, may have
 * signed checkpoints with. Omits the server's own keys when their file cannot be used.
 *
 * @param replicas null when the store is not shared
 * @throws StoreUnavailableError
 */
export async function checkpointKeysOf(
  options: KeyringOptions,
  replicas: Pick<Replicas, 'loadSigningKeys'> | null,
): Promise<readonly string[]> {
  const keyring = await findKeyring(options).catch((error) => {
    if (error instanceof KeyFileError) return null
    throw error
  })
  const own = (await keyring?.checkpointKeys()) ?? []
  return replicas === null ? own : [...own, ...(await publishedCheckpointKeys(replicas))]
}

import { type Keyring, openKeyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import { type SigningKeyChange, UnknownSigningKeyError } from '../ports/signer.js'
import { recordSigningKeyChanges } from '../use-cases/signing-keys/record.js'
import { EXIT, fail } from './exit.js'
import { serverDataDir } from './server-data.js'
import { withStore } from './with-store.js'

export function signingKeysList(): Promise<number> {
  return change(async () => [])
}

/** The next key signs from now on. A running server takes it over within 2 s. */
export function signingKeysRotate(): Promise<number> {
  return change((keyring) => keyring.rotate())
}

/** Takes a key out of the key set: permits that it signed verify no longer. */
export async function signingKeysRevoke(kid: string): Promise<number> {
  try {
    return await change((keyring) => keyring.revoke(kid))
  } catch (error) {
    if (error instanceof UnknownSigningKeyError) return fail(error, EXIT.usage)
    throw error
  }
}

/**
 * Changes the keys and prints all of them. The change is recorded here, or by the server that runs: it sees the file. The
 * store is held over the whole of it, so that no server starts in between and takes the change for its first state.
 */
async function change(step: (keyring: Keyring) => Promise<SigningKeyChange[]>): Promise<number> {
  const dataDir = serverDataDir()
  const changeFile = async () => {
    const { keyring, changes } = await openKeyring({ dataDir, clock: systemClock() })
    return { keyring, changes: [...changes, ...(await step(keyring))] }
  }
  let changed: Awaited<ReturnType<typeof changeFile>> | undefined
  await withStore(dataDir, async ({ writer }) => {
    changed = await changeFile()
    await recordSigningKeyChanges({ writer }, changed.changes)
  })
  changed ??= await changeFile()
  for (const { kid, state, created_at } of changed.keyring.list())
    process.stdout.write(`${kid}  ${state.padEnd(8)}  ${created_at}\n`)
  return EXIT.ok
}

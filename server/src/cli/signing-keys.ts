import { type Keyring, openKeyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import { readConfig } from '../config.js'
import { type SigningKeyChange, UnknownSigningKeyError } from '../ports/signer.js'
import { recordSigningKeyChanges } from '../use-cases/signing-keys/record.js'
import { EXIT, fail } from './exit.js'
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

/** Changes the keys, records what changed (beside a running server, that server does), and prints all keys. */
async function change(step: (keyring: Keyring) => Promise<SigningKeyChange[]>): Promise<number> {
  const { dataDir } = readConfig(process.env)
  const { keyring, changes: made } = await openKeyring({ dataDir, clock: systemClock() })
  const changes = [...made, ...(await step(keyring))]
  if (changes.length > 0) await withStore(dataDir, ({ writer }) => recordSigningKeyChanges({ writer }, changes))
  for (const { kid, state, created_at } of keyring.list())
    process.stdout.write(`${kid}  ${state.padEnd(8)}  ${created_at}\n`)
  return EXIT.ok
}

import { findKeyring, type Keyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import { EarlyRotationError, UnknownSigningKeyError } from '../ports/signer.js'
import { SharedSigningKeys } from '../state/shared-signing-keys.js'
import { recordSigningKeys } from '../use-cases/signing-keys/record.js'
import { EXIT, fail, failure } from './exit.js'
import { serverData } from './server-data.js'
import { withStore } from './with-store.js'

export async function signingKeysList(): Promise<number> {
  return print(await keyringIn(serverData().dataDir))
}

/** Makes the next key sign from now on. A running server uses it within 2 s. */
export async function signingKeysRotate({ force }: { readonly force?: boolean }): Promise<number> {
  try {
    return await change((keyring) => keyring.rotate({ isForced: force === true }))
  } catch (error) {
    if (!(error instanceof EarlyRotationError)) throw error
    throw failure(`${error.message} Use --force to rotate now.`, error)
  }
}

/** Removes a key from the key set: its permits no longer verify. */
export async function signingKeysRevoke(kid: string): Promise<number> {
  try {
    return await change((keyring) => keyring.revoke(kid))
  } catch (error) {
    if (error instanceof UnknownSigningKeyError) return fail(error, EXIT.usage)
    throw error
  }
}

/**
 * Changes the keys and prints all of them. Records the change here, or leaves that to the running server, which watches
 * the file.
 */
async function change(step: (keyring: Keyring) => Promise<unknown>): Promise<number> {
  const config = serverData()
  const signer = await keyringIn(config.dataDir)
  await step(signer)
  try {
    await withStore(config, async ({ store, writer, clock }) => {
      if (store.replicas !== null) await new SharedSigningKeys(signer, store.replicas, clock).publish()
      await recordSigningKeys({ signer, store, writer })
    })
  } catch (cause) {
    const { message } = cause as Error
    throw failure(
      `The signing keys are changed. The store did not record the change yet; the next start will. ${message}`,
      cause,
    )
  }
  return print(signer)
}

async function keyringIn(dataDir: string): Promise<Keyring> {
  const keyring = await findKeyring({ dataDir, clock: systemClock() })
  if (keyring === null)
    throw failure(`There are no signing keys in ${dataDir}. The server creates them when it starts.`)
  return keyring
}

function print(keyring: Keyring): number {
  for (const { kid, state, created_at } of keyring.list())
    process.stdout.write(`${kid}  ${state.padEnd(8)}  ${created_at}\n`)
  return EXIT.ok
}

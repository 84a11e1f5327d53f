/** Somebody who writes into the database, and signs checkpoints with a key of his own. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CheckpointFile } from '#server/adapters/checkpoint-memory/checkpoint-file'
import { systemClock } from '#server/adapters/system-clock'
import { Trees } from '#server/feed/trees/trees'
import { openTestStore } from './open-test-store.js'

/** Goes on from the trees in the store, up to the end of the logs. No server runs on the data directory. */
export async function signAsStranger(dataDir: string, issuer: string): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x } = publicKey.export({ format: 'jwk' })
  const folder = mkdtempSync(join(tmpdir(), 'stranger-'))
  const store = await openTestStore(dataDir)
  const trees = new Trees({
    store,
    checked: store,
    holder: 'stranger',
    monotonicMs: () => performance.now(),
    clock: systemClock(),
    log: { info() {}, warn() {}, error() {} },
    memory: new CheckpointFile(folder),
    issuer,
    sign: async (text) => ({
      publicKey: x as string,
      signature: sign(null, Buffer.from(text), privateKey).toString('base64url'),
    }),
    checkpointKeys: async () => [x as string],
    onRewritten: () => {},
    onGaps: () => {},
  })
  await trees.catchUp()
  await store.readers.release('stranger')
  await store.close()
  rmSync(folder, { recursive: true })
}

/** The thread of `PermitSigner`: permits in, the same signed out. */
import { parentPort } from 'node:worker_threads'
import { signPermit } from '../mint.js'
import type { UnsignedPermit } from './permit-signer.js'

parentPort?.on('message', (permits: readonly UnsignedPermit[]) => {
  parentPort?.postMessage(permits.map(({ privateKey, text }) => signPermit(privateKey, text)))
})

/** The extra thread of `PermitSigner`: unsigned permits in, their signatures out. */
import { parentPort } from 'node:worker_threads'
import { signatureOf } from '../mint.js'
import type { SignedBatch, UnsignedBatch } from './permit-signer.js'

const port = parentPort
if (port === null) throw new Error('This module runs as a worker thread.')

port.on('message', ({ number, permits }: UnsignedBatch) => {
  const signatures = permits.map(({ privateKey, text }) => {
    try {
      return signatureOf(privateKey, text)
    } catch {
      // The calling thread finds out why.
      return null
    }
  })
  port.postMessage({ number, signatures } satisfies SignedBatch)
})
port.postMessage('ready')

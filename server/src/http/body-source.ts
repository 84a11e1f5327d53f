import type { IncomingMessage } from 'node:http'
import { DomainError } from '../domain-error.js'
import type { BodySource } from './body.js'
import { DISCARDED_BYTES } from './send.js'

/** The bytes of a request's body, as they arrive. */
export function bodyOf(req: IncomingMessage): BodySource {
  return (maxBytes) =>
    new Promise((resolve, reject) => {
      if (req.readableDidRead)
        throw new Error('The body was already read. Put Countersign before the body parsers of the application.')
      const chunks: Buffer[] = []
      let length = 0
      const onData = (chunk: Buffer): void => {
        length += chunk.length
        if (length <= maxBytes) chunks.push(chunk)
        else if (length > DISCARDED_BYTES) {
          req.off('data', onData).pause()
          resolve(null)
        }
      }
      req.on('data', onData)
      req.on('end', () => {
        if (length > maxBytes) resolve(null)
        else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
      })
      req.on('close', () => {
        if (!req.readableEnded) reject(new DomainError('malformed_json', { detail: 'The body ended early.' }))
      })
    })
}

import type { Conversation } from '../bank.js'

const SSL_REQUEST = 80877103

/** The protocol of PostgreSQL, version 3: logs in every client, and takes a simple query for the one that acts. */
export function postgres(): Conversation {
  let bytes = Buffer.alloc(0)
  let isLoggedIn = false
  return {
    hear(more, reply) {
      bytes = Buffer.concat([bytes, more])
      for (;;) {
        const typeLength = isLoggedIn ? 1 : 0
        if (bytes.length < typeLength + 4) return false
        const length = typeLength + bytes.readUInt32BE(typeLength)
        if (bytes.length < length) return false
        const [message, rest] = [bytes.subarray(0, length), bytes.subarray(length)]
        bytes = rest
        if (isLoggedIn) return message.toString('latin1', 0, 1) === 'Q'
        if (message.readUInt32BE(4) === SSL_REQUEST) reply(Buffer.from('N'))
        else {
          isLoggedIn = true
          reply(Buffer.concat([packet('R', Buffer.alloc(4)), READY]))
        }
      }
    },
    answers: () => ({
      cut: packet('T', Buffer.alloc(1_000)).subarray(0, 100),
      refusal: Buffer.concat([error('ERROR', '23514', 'new row violates check constraint "positive"'), READY]),
      failure: error('FATAL', '57P01', 'terminating connection due to administrator command'),
    }),
  }
}

const READY = packet('Z', Buffer.from('I'))

function packet(type: string, body: Uint8Array): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

function error(severity: string, code: string, message: string): Buffer {
  return packet('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`))
}

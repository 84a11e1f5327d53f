import type { Conversation } from '../bank.js'

const COM_QUERY = 3

/** The protocol of MySQL: logs in every client, and takes a query for the one that acts. */
export function mysql(): Conversation {
  let bytes = Buffer.alloc(0)
  let isLoggedIn = false
  return {
    greeting: packet(0, GREETING),
    hear(more, reply) {
      bytes = Buffer.concat([bytes, more])
      for (;;) {
        if (bytes.length < 4) return false
        const length = bytes.readUIntLE(0, 3)
        if (bytes.length < 4 + length) return false
        const [sequence, command] = [bytes[3] ?? 0, bytes[4]]
        bytes = bytes.subarray(4 + length)
        if (isLoggedIn) return command === COM_QUERY
        isLoggedIn = true
        reply(packet(sequence + 1, Buffer.from([0, 0, 0, 2, 0, 0, 0])))
      }
    },
    answers: () => ({
      cut: packet(1, Buffer.alloc(1_000)).subarray(0, 100),
      refusal: error(3819, 'HY000', "Check constraint 'positive' is violated."),
      failure: error(1053, '08S01', 'Server shutdown in progress'),
    }),
  }
}

/** Version 10, with `mysql_native_password` and the form of errors that has a state. */
const GREETING = Buffer.concat([
  Buffer.from('\x0a8.0.0\0', 'latin1'),
  Buffer.from([1, 0, 0, 0]),
  Buffer.alloc(8, 1),
  Buffer.from([0, 0x00, 0x82, 0x2d, 2, 0, 0x08, 0, 21]),
  Buffer.alloc(10),
  Buffer.alloc(12, 1),
  Buffer.from('\0mysql_native_password\0', 'latin1'),
])

function packet(sequence: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(4)
  head.writeUIntLE(body.length, 0, 3)
  head[3] = sequence
  return Buffer.concat([head, body])
}

function error(code: number, state: string, message: string): Buffer {
  return packet(1, Buffer.concat([Buffer.from([0xff, code & 0xff, code >> 8]), Buffer.from(`#${state}${message}`)]))
}

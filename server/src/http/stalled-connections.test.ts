import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { StalledConnections } from './stalled-connections.js'

const STALLED_AFTER_MS = 300
/** More than systems hold of a connection. */
const BODY = Buffer.alloc(32 * 1024 * 1024)

it('does not count the time in which the process stood still', async () => {
  const ended: string[] = []
  const log = { info: (_: object, message: string) => void ended.push(message), warn() {}, error() {} }
  const connections: { writableLength: number }[] = []
  const server = createServer((_, res) => void res.end(BODY))
  server.on('connection', (socket) => connections.push(socket))
  new StalledConnections(log, STALLED_AFTER_MS).watch(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    reader.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    while (!connections.some(({ writableLength }) => writableLength > 0)) await setImmediate()
    // Nothing of the answer is taken while nothing runs, and the looks of that time are made up for by one at most.
    for (let round = 0; round < 3; round += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALLED_AFTER_MS)
      await setImmediate()
    }
    let taken = 0
    for await (const chunk of reader) taken += chunk.length
    expect(taken).toBeGreaterThan(BODY.length)
    expect(ended).toEqual([])
  } finally {
    reader.destroy()
    server.close()
  }
})

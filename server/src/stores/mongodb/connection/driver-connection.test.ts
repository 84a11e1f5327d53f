import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import './driver-connection.js'

/** As the driver makes it, once its socket is connected. */
interface Connection {
  command(namespace: object, command: object, options: object): Promise<unknown>
  destroy(): void
}
const require = createRequire(import.meta.url)
const { Connection } = require('mongodb/lib/cmap/connection.js') as { Connection: new (...of: object[]) => Connection }
const { HostAddress, ns } = require('mongodb/lib/utils.js')

let server: Server
let socket: Socket
let connection: Connection
beforeEach(async () => {
  // It takes what comes, and never answers.
  server = createServer((peer) => void peer.on('error', () => {}))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  connection = new Connection(socket, { id: 1, generation: 0, hostAddress: new HostAddress(`127.0.0.1:${port}`) })
})
afterEach(() => {
  socket.destroy()
  server.close()
})
const ask = (padding = '') => connection.command(ns('admin.$cmd'), { hello: 1, padding }, { socketTimeoutMS: 200 })

test('a command on a socket that is being destroyed fails', async () => {
  socket.destroy()
  await expect(ask()).rejects.toThrow('connection 1')
  await expect(ask()).rejects.toThrow('connection 1')
})

test('a command on a connection that is given up in the same moment fails', async () => {
  const asked = ask()
  connection.destroy()
  await expect(asked).rejects.toThrow('connection 1')
})

test('a command of which only a part can be sent fails when its time is over', async () => {
  await expect(ask('x'.repeat(15_000_000))).rejects.toThrow('timed out')
})

test('a command that waits for its answer fails when its time is over', async () => {
  await expect(ask()).rejects.toThrow('timed out')
})

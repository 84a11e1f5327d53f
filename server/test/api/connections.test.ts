/** More connections than the server may have open are closed at once, and it says so. */
import { connect, type Socket } from 'node:net'
import { until } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { runServer } from '../running-server.js'

const MAX_CONNECTIONS = 5

it('a connection beyond MAX_CONNECTIONS is closed unread, one that ends makes room, and the log tells', async () => {
  const server = await runServer({ settings: { maxConnections: MAX_CONNECTIONS } })
  const open: Socket[] = []
  try {
    const { hostname: host, port } = new URL(server.url)
    const ask = async () => {
      const socket = connect(Number(port), host)
      socket.on('error', () => {})
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
      const isAnswered = await new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true))
        socket.once('close', () => resolve(false))
      })
      if (isAnswered) open.push(socket)
      return isAnswered
    }
    for (let asked = 0; await ask(); asked += 1) expect(asked).toBeLessThan(MAX_CONNECTIONS)
    expect(open.length).toBeGreaterThan(0)
    const told = server.logged.filter(({ fields }) => 'max_connections' in fields)
    expect(told).toMatchObject([
      { level: 'warn', fields: { max_connections: MAX_CONNECTIONS, refused: 1, address: host } },
    ])
    open.pop()?.destroy()
    await until('room', async () => (await ask()) || undefined)
  } finally {
    for (const socket of open) socket.destroy()
    await server.stop()
  }
})

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Fault } from './fault.js'

/** What a bank listens by. */
export interface Listener {
  /** Where the other side is said to be. */
  readonly host: string
  readonly port: number
  /** The connections that are open. */
  readonly sockets: ReadonlySet<Socket>
  close(): Promise<void>
}

/** Unassigned, and out of reach of the ports that systems give out: nobody listens there, whatever else runs. */
const NOBODY_LISTENS = 4

/** Listens on a free port of 127.0.0.1, unless it is the fault that nobody does. */
export async function listen(server: Server, fault: Fault): Promise<Listener> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Faults are what it is for: a peer that goes away is none of its own.
    socket.on('error', () => undefined)
  })
  if (fault !== 'refused') {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const { port } = (server.address() as AddressInfo | null) ?? { port: NOBODY_LISTENS }
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  // Longer than a label of a name may be: no resolver is asked.
  const host = fault === 'not_found' ? `${'a'.repeat(64)}.invalid` : '127.0.0.1'
  return { host, port, sockets, close }
}

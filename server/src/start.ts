import type { Server } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { type Composed, compose } from './compose/compose.js'
import { composeFront } from './compose/front.js'
import type { Parts } from './compose/parts.js'
import { withDeadline } from './concurrency/with-deadline.js'
import type { Config } from './config.js'

/** The store did not close in time. It contains everything that was acknowledged. */
export class StoreNotClosedError extends Error {}

export interface Started {
  readonly url: string
  readonly composed: Composed
  /**
   * Finishes the requests in progress, then closes the store. After `graceMs` it cuts off the rest.
   *
   * @throws StoreNotClosedError
   */
  stop(graceMs?: number): Promise<void>
}

/** How long requests in progress may take when the server stops. */
export const DRAIN_GRACE_MS = 10_000
/** Longer than any caller waits for the store: a slower write was answered with 503. */
const CLOSE_DEADLINE_MS = 6_000

/**
 * Listens on the port, opens the store and answers requests.
 *
 * @throws an error with code EADDRINUSE or EACCES, or an error of opening the store or the signing keys
 */
export async function start(config: Config, parts: Omit<Parts, 'address' | 'connections'>): Promise<Started> {
  const { server, connections, serve } = composeFront(config, parts)
  await listen(server, config)
  const { port } = server.address() as AddressInfo
  const url = `http://${isIPv6(config.host) ? `[${config.host}]` : config.host}:${port}`
  try {
    const composed = await compose(config, { ...parts, address: url, connections })
    serve(composed.listener)
    return { url, composed, stop: (graceMs = DRAIN_GRACE_MS) => stop(server, composed, graceMs) }
  } catch (error) {
    server.close()
    server.closeAllConnections()
    throw error
  }
}

function listen(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function stop(server: Server, composed: Composed, graceMs: number): Promise<void> {
  // Connections that stayed open after their answer would keep the server from closing.
  void composed.drain()
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(timer)
  await closeStore(composed)
}

/** @throws StoreNotClosedError */
export async function closeStore(composed: Composed): Promise<void> {
  const late = () => new StoreNotClosedError(`The store did not close within ${CLOSE_DEADLINE_MS} ms.`)
  await withDeadline(composed.close(), CLOSE_DEADLINE_MS, late)
}

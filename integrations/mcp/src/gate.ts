import { type GateOptions, toolGate } from './gate-options.js'
import { GatedServer } from './gated-server.js'
import { hasHandlers } from './handler-hook.js'

/** `McpServer` and `Server` of both SDKs. */
export interface GateableServer {
  connect(transport: never): Promise<void>
}

/** By the server that has the handlers. */
const gated = new WeakMap<object, GatedServer>()

/**
 * Gates a server: a tool runs only if a decision permits the call. Tools can be registered before or after. A second call with the
 * same server and the same options changes nothing.
 *
 * @returns the server that was given
 * @throws TypeError that names the faulty option; and for a server whose tools the gate cannot guard
 *
 * @example
 * const server = gate(new McpServer(info), { client, map: { refund: { action: 'payment.refund', resource: (a) => `order:${a.id}` } } })
 */
export function gate<Server extends GateableServer>(server: Server, options: GateOptions): Server {
  const settings = toolGate('gate', options)
  const handling = hasHandlers(server) ? server : Object(Object(server).server)
  const known = gated.get(handling)
  if (known === undefined) gated.set(handling, new GatedServer(settings, handling, Object(server)))
  else if (known.gate !== settings) throw new TypeError('gate was already called with other options for this server')
  return server
}

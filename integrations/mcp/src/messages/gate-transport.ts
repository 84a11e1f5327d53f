/** Gates a server at its transport. Every message passes the gate, whatever handles it. */
import type { AuthInfo } from '../calls/call.js'
import { type GateOptions, toolGate } from '../gate-options.js'
import type { JsonRpcMessage, RequestId } from './json-rpc.js'
import { MessageGate } from './message-gate.js'

/** A server's transport of either SDK. */
export interface GateableTransport {
  onmessage?: unknown
  onclose?: unknown
  send(message: never, options?: never): Promise<void>
  readonly sessionId?: string | undefined
}

/** What the gate reads of the extra that a transport passes with a message. */
interface MessageExtra {
  readonly authInfo?: AuthInfo | undefined
}

interface SendOptions {
  /** The request that the message belongs to. */
  readonly relatedRequestId?: RequestId | undefined
}

type OnMessage = (message: unknown, extra?: MessageExtra) => void
type Send = (message: JsonRpcMessage, options?: unknown) => Promise<void>
// biome-ignore lint/suspicious/noExplicitAny: whatever a handler is given.
type Handler = (...given: any[]) => void

const gated = new WeakMap<object, GateOptions>()

/**
 * Gates a server's transport, before or after it is connected: only permitted calls reach the handler of `tools/call`, even if the
 * handler is replaced later. A second call with the same options changes nothing.
 *
 * @returns the transport that was given
 * @throws TypeError that names the faulty option; and for a value that is not a transport, or cannot be gated
 *
 * @example
 * await server.connect(gateTransport(new StdioServerTransport(), { client, map }))
 */
export function gateTransport<Transport extends GateableTransport>(
  transport: Transport,
  options: GateOptions,
): Transport {
  const gate = toolGate('gateTransport', options)
  const known = gated.get(transport)
  if (known === options) return transport
  if (known !== undefined) throw new TypeError('gateTransport was already called with other options for this transport')
  if (typeof transport?.send !== 'function')
    throw new TypeError('gateTransport needs a transport as its first argument')
  const send = transport.send.bind(transport) as Send
  let handle: OnMessage | undefined
  const passed = new WeakSet<object>()
  const messages = new MessageGate<MessageExtra | undefined, unknown>(gate, {
    toServer: (message, extra) => {
      passed.add(message)
      handle?.(message, extra)
    },
    toClient: send,
    answer: (message) => send(message),
    answerServer: (message) => {
      passed.add(message)
      handle?.(message)
    },
    ask: (message, _extra, relatedRequestId) => send(message, { relatedRequestId }),
  })
  const gateHandler = (handler: OnMessage): OnMessage => {
    handle = handler
    return (message, extra) => {
      // A server that wraps the handler on connect calls it with messages that have already passed.
      if (passed.has(Object(message))) handler(message, extra)
      else messages.fromClient(message, extra, { authInfo: extra?.authInfo, sessionId: transport.sessionId })
    }
  }
  const closeAfter = (handler: Handler): Handler => {
    return (...closed) => {
      void messages.close('the client is gone')
      handler(...closed)
    }
  }
  replaceHandler(transport, 'onmessage', gateHandler)
  replaceHandler(transport, 'onclose', closeAfter)
  Object.defineProperty(transport, 'send', {
    value: (message: unknown, sendOptions?: SendOptions) => {
      const { relatedRequestId: id } = sendOptions ?? {}
      return messages.fromServer(
        message,
        id === undefined ? sendOptions : { ...sendOptions, relatedRequestId: messages.clientIdOf(id) },
      )
    },
    writable: true,
    configurable: true,
  })
  gated.set(transport, options)
  return transport
}

/** Wraps the handler of the transport, even if it is set later. */
function replaceHandler(
  transport: GateableTransport,
  name: 'onmessage' | 'onclose',
  wrap: (handler: Handler) => Handler,
): void {
  const inherited = inheritedAccessor(transport, name)
  let own: Handler | undefined
  const set = (handler: unknown): void => {
    own = typeof handler === 'function' ? wrap(handler as Handler) : undefined
    // Some transports pass their handlers to an inner transport.
    inherited?.set?.call(transport, own)
  }
  set(transport[name])
  Object.defineProperty(transport, name, { get: () => own, set, enumerable: true })
}

function inheritedAccessor(value: object, name: string): PropertyDescriptor | undefined {
  for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at)) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name)
    if (descriptor !== undefined) return descriptor
  }
  return undefined
}

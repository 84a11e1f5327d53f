/** Relays messages between a client on standard input and output and a server, until one of them ends. */
import type { Readable, Writable } from 'node:stream'
import { endsWithin } from '../../deadline.js'
import { type GateOptions, toolGate } from '../../gate-options.js'
import { excessOf, respelled, spellingsOf } from '../../json/exact-json.js'
import { errorMessage, INTERNAL_ERROR, type JsonRpcMessage } from '../../messages/json-rpc.js'
import { MessageGate } from '../../messages/message-gate.js'
import { CLIENT_LINES } from '../message-text.js'
import type { Log } from '../operator.js'
import type { ServerProcess } from './child-process.js'
import { type LineListener, lineOf, readLines } from './json-lines.js'

/** How long open calls may take after the client has disconnected, in milliseconds. */
const LAST_ANSWERS_MS = 5_000
/** Unread bytes on either side before the proxy stops reading the client. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024
const PARSE_ERROR = -32_700

/** The server: a program, or an object with the same methods. */
export type StdioServer = Pick<
  ServerProcess,
  'closed' | 'unreadBytes' | 'listen' | 'setReading' | 'onDrain' | 'send' | 'stop'
>

export interface StdioProxyOptions {
  readonly server: StdioServer
  readonly gate: GateOptions
  readonly input: Readable
  readonly output: Writable
  readonly log: Log
  /** Aborted to end the proxy. */
  readonly signal: AbortSignal
}

/** What ended first. */
export type ProxyEnd = 'client' | 'server' | 'signal'

/** Resolves when the server has ended and each call is settled, or left open because its outcome is unknown. */
export async function stdioProxy({ server, gate, input, output, log, signal }: StdioProxyOptions): Promise<ProxyEnd> {
  const write = (message: JsonRpcMessage): void => {
    if (!output.write(writtenLine(message))) server.setReading(false)
    setClientReading()
  }
  const send = (message: JsonRpcMessage, given?: unknown): Promise<void> => {
    const sent = server.send(respelled(message, given) as JsonRpcMessage)
    setClientReading()
    return sent
  }
  const messages = new MessageGate<unknown, undefined>(toolGate('countersign-mcp', gate), {
    toServer: send,
    toClient: write,
    answer: write,
    answerServer: send,
  })
  // The proxy pauses the client as late as possible: while paused, it does not notice that the client is gone.
  const setClientReading = (): void => {
    if (Math.max(output.writableLength, server.unreadBytes) > MAX_UNREAD_BYTES) input.pause()
    else input.resume()
  }
  output.on('drain', () => {
    server.setReading(true)
    setClientReading()
  })
  server.onDrain(setClientReading)

  listenToServer(server, messages, log)
  const fromClient: LineListener = {
    onMessage: (message) => messages.fromClient(message, spellingsOf(message)),
    onGarbage: (fault) => write(errorMessage(null, { code: PARSE_ERROR, message: `Parse error: ${fault}` })),
  }
  readLines(input, fromClient, CLIENT_LINES)

  const told = new Promise<ProxyEnd>((resolve) => {
    const stop = (): void => {
      resolve('signal')
      void server.stop({ isUrgent: true })
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  const serverClosed = server.closed.then((): ProxyEnd => 'server')
  const end = await Promise.race([told, clientEnd(input, output), serverClosed])
  if (end === 'client') await endsWithin(Promise.race([messages.idle(), serverClosed, told]), LAST_ANSWERS_MS)
  await server.stop()
  await messages.close('the server has ended')
  return end
}

function listenToServer(server: StdioServer, messages: MessageGate<unknown, undefined>, log: Log): void {
  const warned = new Set<string>()
  const warnOnce = (warning: string, kind = warning): void => {
    if (!warned.has(kind)) log.warn(`${warning} The proxy drops such lines and logs this only once.`)
    warned.add(kind)
  }
  server.listen({
    onMessage(message) {
      const [excess] = [message].flat().map(excessOf)
      if (excess !== undefined) warnOnce(`The server wrote a line with more than ${excess}.`)
      // It rejects if the client's output fails. `clientEnd` handles that.
      messages.fromServer(message, undefined).catch(() => undefined)
    },
    onGarbage: (fault, start) => warnOnce(`The server wrote ${fault} to its standard output (${start}).`, 'garbage'),
  })
}

function clientEnd(input: Readable, output: Writable): Promise<ProxyEnd> {
  return new Promise((resolve) => {
    const end = (): void => resolve('client')
    input.on('end', end).on('close', end).on('error', end)
    // The other side is gone, and would not read any output.
    output.on('close', end).on('error', end)
  })
}

/** If a message of the server is nested too deeply to write, its request receives an error. */
function writtenLine(message: JsonRpcMessage): string {
  try {
    return lineOf(message)
  } catch (error) {
    const id = 'id' in message ? (message.id ?? null) : null
    if ('method' in message || id === null) throw error
    return lineOf(
      errorMessage(id, { code: INTERNAL_ERROR, message: 'Internal error: the answer of the server cannot be relayed' }),
    )
  }
}

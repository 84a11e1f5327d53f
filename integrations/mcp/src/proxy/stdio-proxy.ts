/** Relays between a client on standard input and output and a server, until one of them ends. */
import type { Readable, Writable } from 'node:stream'
import { endsWithin } from '../deadline.js'
import { type GateOptions, toolGate } from '../gate-options.js'
import { errorMessage, INTERNAL_ERROR, type JsonRpcMessage } from '../json-rpc.js'
import { MessageGate } from '../message-gate.js'
import type { ServerProcess } from './child-process.js'
import { lineOf, readLines } from './json-lines.js'
import type { Log } from './log.js'

/** How long open calls may take after the client has disconnected, in milliseconds. */
const LAST_ANSWERS_MS = 5_000
/** Unread bytes on either side before the proxy stops reading the client. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024
const PARSE_ERROR = -32_700

/** The server behind it: a program, or something that behaves like one. */
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
  /** Aborted when the proxy has to end. */
  readonly signal: AbortSignal
}

/** What has ended first. */
export type StdioProxyEnd = 'client' | 'server' | 'signal'

/** Resolves when the server has ended, and each call is settled, or left open because its outcome is unknown. */
export async function stdioProxy({
  server,
  gate,
  input,
  output,
  log,
  signal,
}: StdioProxyOptions): Promise<StdioProxyEnd> {
  const write = (message: JsonRpcMessage): void => {
    if (!output.write(writtenLine(message))) server.setReading(false)
    setClientReading()
  }
  const messages = new MessageGate<undefined, undefined>(toolGate('countersign-mcp', gate), {
    toServer: (message) => {
      const sent = server.send(message)
      setClientReading()
      return sent
    },
    toClient: write,
    answer: write,
  })
  // A client is held up no sooner than it has to be: while it is not read, nobody sees that it is gone.
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
  readLines(input, {
    onMessage: (message) => messages.fromClient(message, undefined),
    onGarbage: (fault) => write(errorMessage(null, { code: PARSE_ERROR, message: `Parse error: ${fault}` })),
  })

  const told = new Promise<StdioProxyEnd>((resolve) => {
    const stop = (): void => {
      resolve('signal')
      void server.stop({ isUrgent: true })
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  const serverClosed = server.closed.then((): StdioProxyEnd => 'server')
  const end = await Promise.race([told, clientEnd(input, output), serverClosed])
  if (end === 'client') await endsWithin(Promise.race([messages.idle(), serverClosed, told]), LAST_ANSWERS_MS)
  await server.stop()
  await messages.close('the server has ended')
  return end
}

function listenToServer(server: StdioServer, messages: MessageGate<undefined, undefined>, log: Log): void {
  let isWarned = false
  server.listen({
    // It rejects as the client's output does, which is seen there.
    onMessage: (message) => void messages.fromServer(message, undefined).catch(() => undefined),
    onGarbage(fault, start) {
      if (!isWarned)
        log.warn(
          `The server wrote ${fault} to its standard output (${start}). The proxy drops such lines and logs this only once.`,
        )
      isWarned = true
    },
  })
}

function clientEnd(input: Readable, output: Writable): Promise<StdioProxyEnd> {
  return new Promise((resolve) => {
    const end = (): void => resolve('client')
    input.on('end', end).on('close', end).on('error', end)
    // The other side is gone: nobody reads what would be written.
    output.on('close', end).on('error', end)
  })
}

/** If a message of the server is nested too deeply to be written, its request gets an error. */
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

/** The other side: speaks a protocol as far as the request that acts, and then does what is wrong. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Fault } from './fault.js'
import { listen } from './listener.js'
import { SELF_SIGNED } from './self-signed.js'

/** How a protocol goes, as far as the request that acts. */
export type Protocol = () => Conversation

/** One connection. */
export interface Conversation {
  /** Said before anything came. */
  readonly greeting?: Uint8Array
  /** Takes what came. True once the request that acts is there, whole; all before it is answered by `reply`. */
  hear(bytes: Buffer, reply: (bytes: Uint8Array) => void): boolean
  /** By which the other side knows the request that acts when it comes again, if it has such a key. */
  key?(): string | undefined
  /** What may be said to it. */
  answers(): Answers
}

interface Answers {
  /** The beginning of an answer. */
  readonly cut: Uint8Array
  readonly refusal: Uint8Array
  readonly unpaid?: Uint8Array
  readonly conflict?: Uint8Array
  readonly failure?: Uint8Array
  readonly failureBehind?: Uint8Array
}

export interface Bank {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  /** How many requests that act came whole. */
  heard(): number
  /** How many of them were not one that it knew by its key. */
  acts(): number
  close(): Promise<void>
}

/** A bank that speaks this protocol, until the fault. */
export async function openBank(protocol: Protocol, fault: Fault): Promise<Bank> {
  let heard = 0
  const keys = new Set<string>()
  const serve = (socket: Socket): void => {
    // Over TLS it is another one than that which was listened for.
    socket.on('error', () => undefined)
    if (fault === 'reset_unread') return void socket.resetAndDestroy()
    const conversation = protocol()
    const reply = (bytes: Uint8Array): void => void socket.write(bytes)
    if (conversation.greeting) reply(conversation.greeting)
    socket.on('data', (bytes) => {
      if (!conversation.hear(bytes, reply)) return
      heard += 1
      keys.add(conversation.key?.() ?? `request ${heard}`)
      misbehave(socket, faultOfTry(fault, heard), conversation.answers(), server)
    })
  }
  const server: Server = fault === 'untrusted' ? createTlsServer(SELF_SIGNED, serve) : createServer(serve)
  // A client that trusts nobody is no fault of the server's.
  server.on('tlsClientError', () => undefined)
  const { host, port, close } = await listen(server, fault)
  return {
    scheme: fault === 'untrusted' ? 'https' : 'http',
    host,
    port,
    heard: () => heard,
    acts: () => keys.size,
    close,
  }
}

/** What goes wrong with the first try, the second, and so on. */
export function faultOfTry(fault: Fault, tries: number): Fault {
  if (fault !== 'reset_then_refusal') return fault
  return tries === 1 ? 'reset' : 'refusal'
}

function misbehave(socket: Socket, fault: Fault, answers: Answers, server: Server): void {
  if (fault === 'hang') return
  if (fault === 'reset_then_refused') server.close()
  if (fault === 'reset' || fault === 'reset_then_refused') return void socket.resetAndDestroy()
  if (fault === 'closed') return void socket.end()
  const { cut, refusal, unpaid, conflict, failure, failureBehind } = answers
  if (fault === 'cut') return void socket.end(cut)
  const said: Partial<Record<Fault, Uint8Array | undefined>> = {
    refusal,
    unpaid,
    conflict,
    failure,
    failure_behind: failureBehind,
  }
  const answer = said[fault]
  if (answer === undefined) throw new Error(`${fault} was not to be heard of`)
  socket.write(answer)
}

/** A service of gRPC, on HTTP/2, with one method that takes anything. */
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { type Bank, faultOfTry } from '../bank.js'
import type { Fault } from '../fault.js'
import { listen } from '../listener.js'

/** INVALID_ARGUMENT, ABORTED, INTERNAL, UNAVAILABLE. */
const STATUSES: Partial<Readonly<Record<Fault, number>>> = { refusal: 3, conflict: 10, failure: 13, failure_behind: 14 }
/** As a client of gRPC tells it, of which a server passes on what it was told. */
const BEHIND = 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: '

export async function openGrpcBank(fault: Fault): Promise<Bank> {
  let heard = 0
  const server = createServer()
  server.on('connection', (socket: Socket) => {
    if (fault === 'reset_unread') socket.resetAndDestroy()
  })
  server.on('session', (session) => session.on('error', () => undefined))
  const { host, port, sockets, close } = await listen(server, fault)
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    stream.on('data', () => undefined)
    stream.on('end', () => {
      heard += 1
      if (fault === 'reset_then_refused') server.close()
      misbehave(stream, faultOfTry(fault, heard), reset)
    })
  })
  return { scheme: 'http', host, port, heard: () => heard, acts: () => heard, close }
}

function misbehave(stream: ServerHttp2Stream, fault: Fault, reset: () => void): void {
  if (fault === 'hang') return
  if (fault === 'reset' || fault === 'reset_then_refused') return void reset()
  if (fault === 'closed') return void stream.session?.destroy()
  const headers = { ':status': 200, 'content-type': 'application/grpc' }
  if (fault === 'cut') {
    stream.respond(headers)
    // The head of a message of 1,000 bytes, and no more of it.
    stream.write(Buffer.from([0, 0, 0, 3, 232, 1]), reset)
    return
  }
  const code = STATUSES[fault]
  if (code === undefined) throw new Error(`${fault} was not to be heard of`)
  stream.respond(
    { ...headers, 'grpc-status': `${code}`, 'grpc-message': fault === 'failure_behind' ? encodeURI(BEHIND) : 'no' },
    { endStream: true },
  )
}

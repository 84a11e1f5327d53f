import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'

/**
 * What becomes of one command: its answer may be cut, it may itself be lost, its answer takes its time, or it is late: its
 * connection is closed and it is sent again by a client that wants it done, and then it comes through all the same.
 */
export type Fate = 'passes' | 'answer cut' | 'lost' | 'delayed' | 'late'

/** A command on a collection. */
export interface Command {
  readonly name: string
  readonly collection: string
  /** All of it, the statements of a bulk included. */
  read(): Document
}

export interface Relay {
  /** The URL of the server with this relay in its place. */
  readonly url: string
  /**
   * The same for a driver that looks at once whether the server is there again after a broken connection: else it waits for
   * up to half a second.
   */
  readonly hurriedUrl: string
  /** How often what was done to commands, by `<fate> <command> <collection>`. */
  readonly counts: ReadonlyMap<string, number>
  /** From now on nothing passes, and new connections are refused: the machine is gone. */
  kill(): void
  /** From now on nothing passes, though connections stay open and new ones are taken: the network swallows it all. */
  hold(): void
  /** It is back. What was held arrives now, though its sender may have gone. */
  revive(): void
  close(): Promise<void>
}

const DELAY_MS = 15
/** In turn: while the same is tried again, and long after that. */
const LATE_MS = [20, 60, 200]

/** A TCP relay in front of a MongoDB server that breaks connections between a command and its answer. */
export async function openRelay(serverUrl: string, fateOf: (command: Command) => Fate): Promise<Relay> {
  const target = new URL(serverUrl.replace(/^mongodb/, 'http'))
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  let isDead = false
  let held: (() => void)[] | null = null
  let lates = 0
  const pass = (step: () => void) => void (held === null ? step() : held.push(step))
  const server: Server = createServer((client) => {
    if (isDead) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    let isLate = false
    const end = () => {
      client.destroy()
      if (!isLate) upstream.destroySoon()
    }
    const endBefore = (message: Buffer) => {
      isLate = true
      const send = () => {
        if (!upstream.destroyed) upstream.write(message)
        upstream.destroySoon()
      }
      setTimeout(send, LATE_MS[lates++ % LATE_MS.length])
      end()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => pass(end))
      socket.on('close', () => {
        sockets.delete(socket)
        pass(end)
      })
    }
    const fates: Fate[] = []
    const forward = (message: Buffer) => {
      const command = commandOf(message)
      const fate = command === null ? 'passes' : fateOf(command)
      const what = `${fate} ${command?.name} ${command?.collection}`
      if (fate !== 'passes') counts.set(what, (counts.get(what) ?? 0) + 1)
      if (fate === 'lost') return end()
      if (fate === 'late') return endBefore(message)
      fates.push(fate)
      upstream.write(message)
    }
    const back = (message: Buffer) => {
      const fate = fates.shift()
      if (fate === 'answer cut') end()
      else if (fate === 'delayed') setTimeout(() => client.destroyed || client.write(message), DELAY_MS)
      else client.write(message)
    }
    messagesOf(client, (message) => pass(() => forward(message)))
    messagesOf(upstream, (message) => pass(() => back(message)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  // Else the driver would ask the server for its own address, and go past the relay.
  url.searchParams.delete('replicaSet')
  url.searchParams.set('directConnection', 'true')
  url.port = String((server.address() as AddressInfo).port)
  const destroyAll = () => {
    isDead = true
    for (const socket of sockets) socket.destroy()
  }
  const hurriedUrl = new URL(url)
  hurriedUrl.searchParams.set('minHeartbeatFrequencyMS', '10')
  return {
    url: url.href.replace(/^http/, 'mongodb'),
    hurriedUrl: hurriedUrl.href.replace(/^http/, 'mongodb'),
    counts,
    kill: destroyAll,
    hold() {
      held = []
    },
    revive() {
      isDead = false
      const late = held ?? []
      held = null
      for (const step of late) step()
    },
    async close() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Calls back for each whole message of the wire protocol. */
export function messagesOf(socket: Socket, onMessage: (message: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0)
      onMessage(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  })
}

export const OP_MSG = 2013
const KIND_BODY = 0
const STRING = 2
/** Of the body: behind the header, the flags and the byte that tells the kind. */
export const BODY = 21

/** Null for what is no command on a collection. */
function commandOf(message: Buffer): Command | null {
  if (message.readInt32LE(12) !== OP_MSG || message[BODY - 1] !== KIND_BODY) return null
  const start = BODY + 4
  if (message[start] !== STRING) return null
  const nameEnd = message.indexOf(0, start + 1)
  const length = message.readInt32LE(nameEnd + 1)
  return {
    name: message.toString('latin1', start + 1, nameEnd),
    collection: message.toString('utf8', nameEnd + 5, nameEnd + 4 + length),
    read: () => documentOf(message),
  }
}

/** The body, and each sequence of documents behind it as a member. */
function documentOf(message: Buffer): Document {
  const documentAt = (at: number) => BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)))
  const body: Document = documentAt(BODY)
  for (let at = BODY + message.readInt32LE(BODY); at < message.length; ) {
    const end = at + 1 + message.readInt32LE(at + 1)
    const nameEnd = message.indexOf(0, at + 5)
    const documents: Document[] = []
    for (let next = nameEnd + 1; next < end; next += message.readInt32LE(next)) documents.push(documentAt(next))
    body[message.toString('latin1', at + 5, nameEnd)] = documents
    at = end
  }
  return body
}

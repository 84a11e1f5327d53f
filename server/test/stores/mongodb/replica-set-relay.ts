/**
 * A replica set of two members as drivers see it, in front of one database: each says of itself that it is the primary or a
 * secondary, and a member that steps down answers as MongoDB does. Both have the same data, so no write is ever rolled back.
 */
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { BSON, type Document, ObjectId } from 'mongodb'
import { messagesOf, OP_MSG } from './relay.js'

/**
 * What becomes of the write during which the primary steps down. It is never sent, or it is done, and its answer is an error,
 * a success that a majority may not have, or none.
 */
export const STEP_DOWNS = ['refused', 'interrupted', 'not of a majority', 'connection closed'] as const
export type StepDown = (typeof STEP_DOWNS)[number]

const SET = 'relayed'
const WRITES = new Set(['insert', 'update', 'delete'])
const FOR_THE_PRIMARY = new Set([...WRITES, 'find', 'aggregate', 'createIndexes', 'listCollections'])
const GREETINGS = new Set(['hello', 'isMaster', 'ismaster'])
/** What the server behind it says of a set of its own. Without `topologyVersion`, drivers ask again and again. */
const OF_THE_SET = new Set(['electionId', 'primary', 'passives', 'arbiters', 'topologyVersion'])
const OPTIONS = [
  ['replicaSet', SET],
  ['heartbeatFrequencyMS', '500'],
  ['minHeartbeatFrequencyMS', '10'],
] as const
const OP_REPLY = 1
/** Where the document of an answer begins. */
const BEGINS = { [OP_REPLY]: 36, [OP_MSG]: 21 }
/** Where the name of a command begins, behind the length and the type of its document. */
const NAME = BEGINS[OP_MSG] + 5

const NOT_PRIMARY = { ok: 0, code: 10107, codeName: 'NotWritablePrimary', errmsg: 'not primary' }
const INTERRUPTED = {
  ok: 0,
  code: 11602,
  codeName: 'InterruptedDueToReplStateChange',
  errmsg: 'operation was interrupted',
}
const STEPPED_DOWN = {
  code: 189,
  codeName: 'PrimarySteppedDown',
  errmsg: 'Primary stepped down while waiting for replication',
}

export class ReplicaSetRelay {
  /** Commands that a member refused because it was not the primary. */
  refused = 0
  #primary: number | null = 0
  #term = 1
  #armed: StepDown | null = null
  readonly #members: Server[] = []
  readonly #sockets = new Set<Socket>()
  readonly #target: URL

  private constructor(serverUrl: string) {
    this.#target = new URL(serverUrl.replace(/^mongodb/, 'http'))
  }

  static async open(serverUrl: string): Promise<ReplicaSetRelay> {
    const relay = new ReplicaSetRelay(serverUrl)
    for (const index of [0, 1]) {
      const member = createServer((client) => relay.#serve(index, client))
      await new Promise<void>((resolve) => member.listen(0, '127.0.0.1', resolve))
      relay.#members.push(member)
    }
    return relay
  }

  /** For a driver that looks often who the primary is. */
  get url(): string {
    const url = new URL(this.#target)
    url.searchParams.delete('directConnection')
    for (const [option, value] of OPTIONS) url.searchParams.set(option, value)
    return url.href.replace(/^http/, 'mongodb').replace(url.host, this.#hosts().join())
  }

  get hasPrimary(): boolean {
    return this.#primary !== null
  }

  /** The primary steps down with its next write. Then there is none. */
  stepDownAtWrite(how: StepDown): void {
    this.#armed = how
  }

  elect(member: number): void {
    this.#primary = member
    this.#term += 1
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(this.#members.map((member) => new Promise((resolve) => member.close(resolve))))
  }

  #hosts(): string[] {
    return this.#members.map((member) => `127.0.0.1:${(member.address() as AddressInfo).port}`)
  }

  #serve(index: number, client: Socket): void {
    const upstream = connect(Number(this.#target.port), this.#target.hostname)
    const end = () => {
      client.destroy()
      upstream.destroySoon()
    }
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    /** What is made of the answer to each request that was sent on, by its id. */
    const answers = new Map<number, (answer: Buffer) => Buffer | null>()
    messagesOf(client, (request) => {
      const id = request.readInt32LE(4)
      const name = nameOf(request)
      if (GREETINGS.has(name)) answers.set(id, (answer) => this.#introduce(index, answer))
      else if (this.#primary !== index && FOR_THE_PRIMARY.has(name)) return void client.write(this.#refuse(id))
      else if (this.#armed !== null && WRITES.has(name)) {
        const how = this.#armed
        this.#armed = null
        this.#primary = null
        if (how === 'refused') return void client.write(this.#refuse(id))
        answers.set(id, (answer) => afterStepDown(how, answer))
      }
      upstream.write(request)
    })
    messagesOf(upstream, (answer) => {
      const id = answer.readInt32LE(8)
      const change = answers.get(id) ?? ((same: Buffer) => same)
      answers.delete(id)
      const changed = change(answer)
      if (changed === null) end()
      else client.write(changed)
    })
  }

  #refuse(request: number): Buffer {
    this.refused += 1
    const document = BSON.serialize(NOT_PRIMARY)
    const head = Buffer.alloc(BEGINS[OP_MSG])
    head.writeInt32LE(request, 8)
    head.writeInt32LE(OP_MSG, 12)
    return withLength(Buffer.concat([head, document]))
  }

  #introduce(index: number, answer: Buffer): Buffer {
    const hosts = this.#hosts()
    const isPrimary = this.#primary === index
    return withDocument(answer, (hello) => {
      const own = Object.entries(hello).filter(([member]) => !OF_THE_SET.has(member))
      return {
        ...Object.fromEntries(own),
        ...('isWritablePrimary' in hello ? { isWritablePrimary: isPrimary } : { ismaster: isPrimary }),
        ...{ secondary: !isPrimary, setName: SET, hosts, me: hosts[index], setVersion: 1 },
        ...(this.#primary !== null && { primary: hosts[this.#primary] }),
        ...(isPrimary && { electionId: new ObjectId(this.#term.toString(16).padStart(24, '0')) }),
      }
    })
  }
}

/** The name of the command in a request. Only the first one of a connection has the older form. */
function nameOf(request: Buffer): string {
  if (request.readInt32LE(12) !== OP_MSG) return 'isMaster'
  return request.toString('latin1', NAME, request.indexOf(0, NAME))
}

/** Null: there is no answer. */
function afterStepDown(how: StepDown, answer: Buffer): Buffer | null {
  if (how === 'connection closed') return null
  if (how === 'interrupted') return withDocument(answer, () => INTERRUPTED)
  return withDocument(answer, (done) => ({ ...done, writeConcernError: STEPPED_DOWN }))
}

function withDocument(message: Buffer, change: (document: Document) => Document): Buffer {
  const begins = BEGINS[message.readInt32LE(12) as keyof typeof BEGINS]
  // Numbers keep their types.
  const document = BSON.deserialize(message.subarray(begins), { promoteValues: false })
  return withLength(Buffer.concat([message.subarray(0, begins), BSON.serialize(change(document))]))
}

function withLength(message: Buffer): Buffer {
  message.writeInt32LE(message.length, 0)
  return message
}

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'
import { BODY, messagesOf } from './relay.js'

export interface BuildInfoRelay {
  /** The URL of the server with this relay in its place. */
  readonly url: string
  close(): Promise<void>
}

/** A TCP relay in front of a MongoDB server that changes what the server answers to `buildInfo`. */
export async function relayBuildInfo(
  serverUrl: string,
  change: (found: Document) => Document,
): Promise<BuildInfoRelay> {
  const target = new URL(serverUrl.replace(/^mongodb/, 'http'))
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.pipe(upstream)
    messagesOf(upstream, (message) => client.write(isBuildInfo(message) ? changed(message, change) : message))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // Otherwise the driver asks the server for its own address, and goes past the relay.
  const url = new URL(target)
  url.searchParams.delete('replicaSet')
  url.searchParams.set('directConnection', 'true')
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href.replace(/^http/, 'mongodb'),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Both members are in no other answer, and no record has them. */
function isBuildInfo(message: Buffer): boolean {
  return message.includes('versionArray') && message.includes('maxBsonObjectSize')
}

/** The answer with another document. It has a header, flags, the byte of its one section, and the document. */
function changed(message: Buffer, change: (found: Document) => Document): Buffer {
  const head = Buffer.from(message.subarray(0, BODY))
  const document = BSON.serialize(change(BSON.deserialize(message.subarray(BODY))))
  head.writeInt32LE(BODY + document.length)
  return Buffer.concat([head, document])
}

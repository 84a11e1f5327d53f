/** A relay to MongoDB that notes each command that passes, and when: what a server asks of its store is counted outside of it. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const MESSAGE = 2013
const [HEADER_BYTES, FLAG_BYTES, KIND_BYTES] = [16, 4, 1]

/**
 * @typedef {{ name: string, startedAt: number, endedAt: number }} Command `insert claims`, with its times since 1970
 * @param {string} url of MongoDB, with one host
 * @returns {Promise<{ url: string, commands: Command[], close: () => void }>} the commands that were answered, as they end
 */
export async function commandRelay(url) {
  const target = new URL(url.replace(/^mongodb/, 'http'))
  const commands = []
  const sockets = new Set()
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    near.setNoDelay()
    const open = new Map()
    near.on(
      'data',
      messages((id, _, message) => open.set(id, { name: nameOf(message), startedAt: now() })),
    )
    far.on(
      'data',
      messages((_, answered) => noteEnd(open, answered, commands)),
    )
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const near = new URL(target)
  near.host = `127.0.0.1:${server.address().port}`
  return {
    url: near.href.replace(/^http/, 'mongodb'),
    commands,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const now = () => performance.timeOrigin + performance.now()

function noteEnd(open, answered, commands) {
  const command = open.get(answered)
  open.delete(answered)
  if (command !== undefined) commands.push({ ...command, endedAt: now() })
}

/** Calls back for each whole message of a stream, with its id and the id that it answers. */
function messages(onMessage) {
  let bytes = Buffer.alloc(0)
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= HEADER_BYTES && bytes.length >= bytes.readInt32LE(0)) {
      const length = bytes.readInt32LE(0)
      onMessage(bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.subarray(0, length))
      bytes = bytes.subarray(length)
    }
  }
}

/** The first member of the command's document: the name of the command, and of its collection. */
function nameOf(message) {
  if (message.readInt32LE(12) !== MESSAGE) return 'hello'
  const nameAt = HEADER_BYTES + FLAG_BYTES + KIND_BYTES + 4 + 1
  const nameEnd = message.indexOf(0, nameAt)
  const name = message.toString('latin1', nameAt, nameEnd)
  const isText = message[nameAt - 1] === 2
  if (!isText) return name
  const length = message.readInt32LE(nameEnd + 1)
  return `${name} ${message.toString('latin1', nameEnd + 5, nameEnd + 4 + length)}`
}

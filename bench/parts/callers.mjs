/**
 * The callers of a server, as a process of their own: `fork` this file and send it first `{ requests, needle }`, what they ask and
 * what each answer has to contain, and then `{ port, connections, forMs, atMost }` for each round,
 * which is over with the time, or when enough have been answered. They write ready-made bytes and look
 * at as little as they can; each UUID of a request is a new one whenever it is sent.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** One answer in this many tells how long its decision took. */
const LOOKED_AT = 16

const kinds = new Map()
let asked = 0

process.on('message', async ({ kind, requests, needle, ...round }) => {
  if (requests === undefined) return process.send(await run(kinds.get(kind), round))
  const prepared = requests.map((text) => ({
    bytes: Buffer.from(text, 'latin1'),
    uuidsAt: [...text.matchAll(UUID)].map(({ index }) => index),
  }))
  kinds.set(kind, { requests: prepared, needle })
  process.send('ready')
})

async function run(kind, { port, connections, forMs, atMost = Number.POSITIVE_INFINITY }) {
  const waits = []
  const decidedMs = []
  const cpu = process.cpuUsage()
  const started = performance.now()
  const goesOn = () => performance.now() - started < forMs && waits.length < atMost
  await Promise.all(Array.from({ length: connections }, () => callOn(port, kind, goesOn, waits, decidedMs)))
  const elapsedMs = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  waits.sort((one, other) => one - other)
  const at = (share) => waits[Math.floor(waits.length * share)]
  return {
    answers: waits.length,
    elapsedMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    busy: (user + system) / 1000 / elapsedMs,
    decidedMs,
  }
}

async function callOn(port, { requests, needle }, goesOn, waits, decidedMs) {
  let sentAt = 0
  let isAnswered = false
  let answer = null
  const onread = {
    buffer: Buffer.allocUnsafe(65_536),
    callback(length, buffer) {
      const chunk = buffer.latin1Slice(0, length)
      answer = answer === null ? chunk : answer + chunk
      const bodyAt = answer.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4 || answer.length < bodyAt + Number(/\r\ncontent-length: (\d+)/i.exec(answer)[1])) return true
      waits.push(performance.now() - sentAt)
      isAnswered = true
      if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(needle)) throw new Error(answer)
      if (waits.length % LOOKED_AT === 0) {
        const [, latency] = /"latency_ms":([\d.e-]+)/.exec(answer) ?? []
        if (latency !== undefined) decidedMs.push(Number(latency))
      }
      answer = null
      if (goesOn()) ask()
      else socket.end()
      return true
    },
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
  const ask = () => {
    const { bytes, uuidsAt } = requests[asked++ % requests.length]
    // One that waits in a socket would change with the next one, so each has bytes of its own.
    const request = uuidsAt.length === 0 ? bytes : Buffer.from(bytes)
    for (const at of uuidsAt) request.latin1Write(randomUUID(), at)
    sentAt = performance.now()
    isAnswered = false
    socket.write(request)
  }
  await once(socket, 'connect')
  ask()
  await once(socket, 'close')
  if (!isAnswered) throw new Error('A server closed a connection in place of an answer.')
}

/**
 * The callers of a decision point, as a process of their own: `fork` this file, send it `{ port, connections, forMs, agents }`,
 * and it answers what it got. Each decision has an idempotency key of its own, as the SDK sends them. The callers write
 * ready-made bytes, and read as little as they can.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { KEY } from './server.mjs'

const ANY_KEY = randomUUID()

/** A request whose key is still to be filled in, and where. */
function requestOf(agent_id) {
  const context = { amount: 1, currency: 'EUR', customer: 'customer-1', note: 'asked for by the customer' }
  const body = JSON.stringify({ agent_id, action: 'payment.refund', resource: 'order:1', context })
  const bytes = Buffer.from(
    `POST /v1/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\nIdempotency-Key: ${ANY_KEY}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return { bytes, keyAt: bytes.indexOf(ANY_KEY) }
}

process.on('message', async ({ port, connections, forMs, agents }) => {
  const requests = agents.map(requestOf)
  const calls = []
  const started = performance.now()
  const callOn = async () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
    await once(socket, 'connect')
    let text = ''
    let askedAt = 0
    const ask = () => {
      const { bytes, keyAt } = requests[calls.length % requests.length]
      const request = Buffer.from(bytes)
      request.write(randomUUID(), keyAt)
      askedAt = performance.timeOrigin + performance.now()
      socket.write(request)
    }
    socket.on('data', (chunk) => {
      text += chunk
      const bodyAt = text.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4 || text.length < bodyAt + Number(/\r\ncontent-length: (\d+)/i.exec(text)[1])) return
      if (!text.startsWith('HTTP/1.1 200') || !text.includes('"permit_token"')) throw new Error(text)
      calls.push({ askedAt, answeredAt: performance.timeOrigin + performance.now() })
      text = ''
      if (performance.now() - started < forMs) ask()
      else socket.end()
    })
    ask()
    await once(socket, 'close')
  }
  await Promise.all(Array.from({ length: connections }, callOn))
  process.send({ calls, elapsedMs: performance.now() - started })
})

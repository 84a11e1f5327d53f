import { createServer } from 'node:net'
import { Countersign } from '@countersign/client'
import { KEY } from './server.mjs'

/**
 * The bytes that the client sends to have these requests decided, taken from the wire. Its idempotency keys and holders
 * are in them as UUIDs.
 */
export async function bytesOfClient(requests) {
  const taken = []
  const server = createServer((socket) => {
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
      const bodyAt = text.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4 || text.length < bodyAt + Number(/content-length: (\d+)/i.exec(text)[1])) return
      taken.push(text)
      text = ''
      socket.write('HTTP/1.1 500 Taken\r\nContent-Length: 0\r\n\r\n')
    })
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  const client = new Countersign({ baseUrl, apiKey: KEY, maxRetries: 0 })
  for (const request of requests) await client.authorize(request).catch(() => {})
  client.close()
  server.close()
  if (taken.length !== requests.length) throw new Error('The client did not send what was asked of it.')
  return taken
}

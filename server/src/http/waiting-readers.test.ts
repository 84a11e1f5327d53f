import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { WaitingReaders } from './waiting-readers.js'

const COMMENT = ': the server is starting\n\n'

it('hears a comment every 15 seconds, before something in between takes the connection for dead', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const readers = new WaitingReaders(2)
  const server = createServer((req, res) => readers.hold(req, res, 'req_1'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    for (let comments = 1; comments < 4; comments += 1) {
      while (text.length < comments * COMMENT.length) await setImmediate()
      expect(text).toBe(COMMENT.repeat(comments))
      vi.advanceTimersByTime(15_000)
    }
  } finally {
    vi.useRealTimers()
    request.destroy()
    server.close()
  }
})

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Sender, type SenderOptions } from '#server/feed/webhooks/sender'
import { CERTIFICATE } from './certificate.js'
import { type Answer, type Receiver, startReceiver } from './receiver.js'

const BODY = Buffer.from('{"type":"webhook.test"}')
const NOW = new Date('2026-11-22T10:00:00.000Z')

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0).reverse()) await close()
})

async function receiver(answer?: Answer, options?: { tls?: boolean }): Promise<Receiver> {
  const started = await startReceiver(answer, options)
  closing.push(started.close)
  return started
}

function sender(url: string, options: Partial<SenderOptions> = {}): Sender {
  const made = new Sender(url, { allowsPrivate: true, clock: { now: () => NOW }, ...options })
  closing.push(() => made.close())
  return made
}

function answering(status: number, headers: Record<string, string>, body: string | Buffer = ''): Answer {
  return (_, res) => res.writeHead(status, headers).end(body)
}

/** A server that is not one of HTTP. */
async function tcpServer(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return (server.address() as AddressInfo).port
}

describe('an attempt', () => {
  it('is a POST with the headers and the bytes of the body, and the status says what became of it', async () => {
    const { url, port, received } = await receiver()
    const result = await sender(`${url}?a=b`).send({ 'webhook-id': 'evt_1', 'content-type': 'application/json' }, BODY)
    expect(result).toEqual({
      status: 200,
      error: null,
      response: 'ok',
      retryAfterMs: null,
      durationMs: expect.any(Number),
    })
    expect(received).toHaveLength(1)
    expect(received[0]).toMatchObject({ method: 'POST', path: '/hook?a=b', body: BODY })
    expect(received[0]?.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      'webhook-id': 'evt_1',
      'content-length': String(BODY.length),
    })
  })

  it('keeps its connections, four at most', async () => {
    const waiting: (() => void)[] = []
    const { url, connectionCount, received } = await receiver((_, res) => void waiting.push(() => res.end()))
    const endpoint = sender(url)
    for (let round = 0; round < 3; round++) {
      const sent = Array.from({ length: 4 }, () => endpoint.send({}, BODY))
      await vi.waitFor(() => expect(waiting).toHaveLength(4))
      for (const answer of waiting.splice(0)) answer()
      await Promise.all(sent)
    }
    expect(received).toHaveLength(12)
    expect(connectionCount()).toBe(4)
  })

  it('comes through when the connection that was kept has been closed meanwhile', async () => {
    const { url, dropConnections, received } = await receiver()
    const endpoint = sender(url)
    for (let round = 0; round < 20; round++) {
      expect((await endpoint.send({}, BODY)).error).toBeNull()
      dropConnections()
    }
    expect(received.length).toBeGreaterThanOrEqual(20)
  })

  it.each([200, 201, 202, 204, 299])('succeeds with %d', async (status) => {
    const { url } = await receiver(answering(status, {}))
    expect(await sender(url).send({}, BODY)).toMatchObject({ status, error: null })
  })

  it.each([400, 401, 404, 410, 429, 500, 503, 599])('fails with %d', async (status) => {
    const { url } = await receiver(answering(status, {}, 'no'))
    const expected = { status, error: `The endpoint responded with ${status}.`, response: 'no' }
    expect(await sender(url).send({}, BODY)).toMatchObject(expected)
  })

  it.each([301, 302, 303, 307, 308])('follows no redirect: %d fails', async (status) => {
    const other = await receiver()
    const { url } = await receiver(answering(status, { location: other.url }))
    const error = `The endpoint responded with ${status}. Redirects are not followed.`
    expect(await sender(url).send({}, BODY)).toMatchObject({ status, error })
    expect(other.connectionCount()).toBe(0)
  })

  it('says how long the receiver asks to wait', async () => {
    const { url } = await receiver(answering(503, { 'retry-after': 'Sun, 22 Nov 2026 10:01:00 GMT' }))
    expect(await sender(url).send({}, BODY)).toMatchObject({ status: 503, retryAfterMs: 60_000 })
  })

  it('uses no proxy', async () => {
    const proxy = await receiver()
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    const { url } = await receiver()
    expect(await sender(url).send({}, BODY)).toMatchObject({ status: 200 })
    expect(proxy.connectionCount()).toBe(0)
  })
})

describe('what is shown of an answer', () => {
  it('is 256 characters on one line', async () => {
    const { url } = await receiver(answering(500, {}, `\u001b[31mred\u0000\r\nnext\u202eback🦀${'ä'.repeat(1000)}`))
    const { response } = await sender(url).send({}, BODY)
    expect(response).toMatch(/^ \[31mred next back🦀ä+$/)
    expect([...(response ?? '')]).toHaveLength(256)
  })

  it('is text, whatever the bytes', async () => {
    const { url } = await receiver(answering(500, {}, Buffer.from([0xff, 0xc3, 0x28, 0x00, 0x80])))
    expect((await sender(url).send({}, BODY)).response).toMatch(/^[\ufffd( ]+$/)
  })

  it('holds no secret that the receiver sends back', async () => {
    const { url } = await receiver(answering(401, {}, 'is it whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/==?'))
    expect((await sender(url).send({}, BODY)).response).toBe('is it whsec_…?')
  })

  it('is the beginning of an answer without an end', async () => {
    let sentBytes = 0
    const { url } = await receiver((_, res) => {
      res.writeHead(200)
      const more = () => {
        while (!res.destroyed) {
          sentBytes += 1024
          if (!res.write('a'.repeat(1024))) break
        }
      }
      res.on('drain', more)
      more()
    })
    const result = await sender(url).send({}, BODY)
    expect(result).toMatchObject({ status: 200, error: null, response: 'a'.repeat(256) })
    expect(result.durationMs).toBeLessThan(5000)
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
  })

  it('is what came before the answer broke off: the status counts', async () => {
    const { url } = await receiver((_, res) => {
      res.writeHead(202, { 'content-length': '100' })
      res.write('half')
      setImmediate(() => res.destroy())
    })
    expect(await sender(url).send({}, BODY)).toMatchObject({ status: 202, error: null })
  })
})

describe('an attempt without an answer', () => {
  it('ends when its time is over', async () => {
    const { url } = await receiver(() => {})
    const error = 'There was no response within 0.2 seconds.'
    expect(await sender(url, { timeoutMs: 200 }).send({}, BODY)).toMatchObject({ status: null, error, response: null })
  })

  it('ends when the answer trickles: the status counts', async () => {
    const { url } = await receiver((_, res) => void res.writeHead(200).write('slow'))
    const result = await sender(url, { timeoutMs: 200 }).send({}, BODY)
    expect(result).toMatchObject({ status: 200, error: null, response: 'slow' })
  })

  it('ends when there is no connection in time', async () => {
    // It never takes part in the handshake.
    const port = await tcpServer(() => {})
    const endpoint = sender(`https://127.0.0.1:${port}/`, { connectTimeoutMs: 100 })
    expect(await endpoint.send({}, BODY)).toMatchObject({ error: 'There was no connection within 0.1 seconds.' })
    const unresolved = sender('http://hooks.example.com/', {
      connectTimeoutMs: 100,
      resolve: () => new Promise(() => {}),
    })
    expect(await unresolved.send({}, BODY)).toMatchObject({ error: 'There was no connection within 0.1 seconds.' })
  })

  it('says that the connection was refused', async () => {
    const { url, close } = await receiver()
    await close()
    expect(await sender(url).send({}, BODY)).toMatchObject({ error: 'The connection was refused.' })
  })

  it.each([
    ['nothing', ''],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-'],
  ])('says that the connection was closed after %s', async (_, text) => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end(text)))
    const result = await sender(`http://127.0.0.1:${port}/`).send({}, BODY)
    expect(result.error).toBe('The connection was closed before there was a response.')
  })

  it.each([
    'SSH-2.0-OpenSSH_9.2\r\n',
    '{"not": "http"}\r\n\r\n',
    `HTTP/1.1 200 OK\r\na: ${'b'.repeat(100_000)}\r\n\r\n`,
  ])('says that the answer is no HTTP: %.20j', async (text) => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end(text)))
    const result = await sender(`http://127.0.0.1:${port}/`).send({}, BODY)
    expect(result.error).toBe('The response is not valid HTTP.')
  })

  it('does not become another protocol', async () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
    const port = await tcpServer((socket) => socket.once('data', () => socket.write(head)))
    const result = await sender(`http://127.0.0.1:${port}/`).send({}, BODY)
    expect(result).toMatchObject({ status: null, error: 'The endpoint responded with another protocol.' })
  })

  it('says nothing of the network inside', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('queryA ETIMEOUT db-7.prod.internal 10.2.3.4'), { code: 'ENOTFOUND' })
    }
    const result = await sender('https://hooks.example.com/', { resolve }).send({}, BODY)
    expect(result.error).toBe('The host has no public address, or its name cannot be resolved.')
  })
})

describe('an attempt over TLS', () => {
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]

  it('verifies the certificate, and names the host to the receiver', async () => {
    const { port, received } = await receiver(undefined, { tls: true })
    const endpoint = sender(`https://hooks.example.com:${port}/a`, { resolve, ca: CERTIFICATE.cert })
    expect(await endpoint.send({}, BODY)).toMatchObject({ status: 200, error: null })
    expect(received[0]).toMatchObject({ servername: 'hooks.example.com', path: '/a' })
    expect(received[0]?.headers.host).toBe(`hooks.example.com:${port}`)
  })

  it('verifies the certificate of an address', async () => {
    const { url } = await receiver(undefined, { tls: true })
    expect(await sender(url, { ca: CERTIFICATE.cert }).send({}, BODY)).toMatchObject({ status: 200 })
  })

  it('fails with a certificate of nobody, also where the environment says otherwise', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const { url, received } = await receiver(undefined, { tls: true })
    const result = await sender(url).send({}, BODY)
    expect(result.error).toBe('The certificate is not from a trusted authority.')
    expect(received).toHaveLength(0)
  })

  it('fails with the certificate of another host', async () => {
    const { port, received } = await receiver(undefined, { tls: true })
    const endpoint = sender(`https://elsewhere.example.com:${port}/`, { resolve, ca: CERTIFICATE.cert })
    expect(await endpoint.send({}, BODY)).toMatchObject({ error: 'The certificate is for another host.' })
    expect(received).toHaveLength(0)
  })

  it('fails where nobody speaks TLS', async () => {
    const { port } = await receiver()
    const result = await sender(`https://127.0.0.1:${port}/`).send({}, BODY)
    expect(result.error).toBe('The TLS handshake failed.')
  })
})

describe('a receiver that restarts', () => {
  it('leaves no attempt without an end', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { url, received, close } = await receiver((_, res) => {
        if (received.length <= 8) res.end()
      })
      const endpoint = sender(url)
      const sendTwice = async () => {
        await endpoint.send({}, BODY)
        await endpoint.send({}, BODY)
        return endpoint.send({}, BODY)
      }
      const sent = Promise.all(Array.from({ length: 4 }, sendTwice))
      await vi.waitFor(() => expect(received.length).toBeGreaterThan(8))
      await close()
      const errors = (await sent).map(({ error }) => error).filter((error) => error !== null)
      expect(errors.length).toBeGreaterThan(0)
      for (const error of errors) expect(error).toMatch(/^The connection was (refused|closed before)/)
    }
  })
})

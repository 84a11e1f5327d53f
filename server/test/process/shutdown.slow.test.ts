/** How the server ends: what it took on is answered and kept, and nothing new is taken on. */
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call } from './call.js'
import { endChildren } from './child.js'
import { RawConnection } from './raw-connection.js'
import { CHOSEN_KEY, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** Far below the time after which connections are cut off, or end by themselves. */
const SOON_MS = 5000

const asked = JSON.stringify({ agent_id: 'agent:a', action: 'payment.refund' })
const decide =
  `POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${CHOSEN_KEY}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${asked.length}\r\n\r\n`
const isReady = 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

async function start(dataDir = newDirectory()): Promise<ShippedServer> {
  const server = await ShippedServer.start({ dataDir })
  const rules = [{ action: '*', effect: 'allow' }]
  await server.call('POST', '/v1/policies', { body: { name: 'everything', rules } })
  return server
}

describe('SIGTERM', () => {
  it('answers what was begun, is not ready from then on, takes nothing new, and ends with 0', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const [begun, readiness, idle] = await Promise.all([1, 2, 3].map(() => RawConnection.open(server.url)))
    if (!begun || !readiness || !idle) throw new Error('A connection is missing.')
    await begun.send(decide + asked.slice(0, 10))
    await readiness.send(isReady)
    await idle.send(`${isReady}\r\n`)
    await until('an answer', () => idle.received.includes('{"status":"ready"}') || undefined)
    const headers = { Connection: 'close' }
    expect((await server.call('GET', '/livez', { headers })).status).toBe(200)

    const signalled = performance.now()
    server.signal('SIGTERM')
    await server.says(/"stopping"/)
    expect(await idle.answer()).toMatch(/^HTTP\/1.1 200 [\s\S]*"ready"}$/)
    // It says so a moment before it does so.
    await until('no connection to be taken', () =>
      RawConnection.open(server.url).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => (error.code === 'ECONNREFUSED' ? true : undefined),
      ),
    )
    await readiness.send('\r\n')
    expect(await readiness.answer()).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\nConnection: close\r\n[\s\S]*shutting down/)
    await begun.send(asked.slice(10))
    const [head = '', body = ''] = (await begun.answer()).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\nConnection: close(\r\n|$)/)
    expect(await server.end()).toEqual({ code: 0, signal: null })
    expect(performance.now() - signalled).toBeLessThan(SOON_MS)
    expect(server.lines.at(-1)).toMatchObject({ msg: 'stopped' })

    const decision = JSON.parse(body)
    expect(decision.permit_token).toBeDefined()
    const next = await ShippedServer.start({ dataDir })
    expect((await next.call('GET', `/v1/decisions/${decision.id}`)).body).toMatchObject({ status: 'authorized' })
  })

  it('under load: each caller gets its answer or no connection, and every answer is kept', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const ids: string[] = []
    const statuses = new Set<number>()
    const clients = Array.from({ length: 24 }, async () => {
      for (;;) {
        const body = { agent_id: 'agent:a', action: 'payment.refund' }
        const answer = await server.call('POST', '/v1/decisions', { body }).catch(() => null)
        if (answer === null) return
        statuses.add(answer.status)
        ids.push(answer.body.id)
      }
    })
    await until('200 answers', () => ids.length >= 200 || undefined)
    const signalled = performance.now()
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    const ms = Math.round(performance.now() - signalled)
    await Promise.all(clients)
    console.log(`ended ${ms} ms after SIGTERM; ${ids.length} answers in all`)
    expect(ms).toBeLessThan(SOON_MS)
    expect(statuses).toEqual(new Set([200]))

    const next = await ShippedServer.start({ dataDir })
    const found = await Promise.all(ids.map((id) => call(next.url, 'GET', `/v1/decisions/${id}`, { key: CHOSEN_KEY })))
    expect(found.filter(({ status }) => status !== 200)).toEqual([])
  })

  it('a second signal, of either kind, ends at once what still waits', async () => {
    const server = await start()
    const begun = await RawConnection.open(server.url)
    await begun.send(decide)
    const signalled = performance.now()
    server.signal('SIGTERM')
    await server.says(/"stopping"/)
    await until('the end after SIGINT', () => {
      if (server.ending === undefined) server.signal('SIGINT')
      return server.ending
    })
    expect(server.ending).toEqual({ code: 1, signal: null })
    expect(performance.now() - signalled).toBeLessThan(SOON_MS)
  })
})

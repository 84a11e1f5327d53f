/** A key may end while its request is on its way or waits for its turn: nothing is done by it then. */
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RawConnection } from '../process/raw-connection.js'
import { type RunningServer, runServer } from '../running-server.js'
import { FaultyStore } from './faulty-store.js'
import { everyItem, makeKey, succeed } from './refunds.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())

const BODY = JSON.stringify({ name: 'planted', scopes: ['*'] })

/** A request to make a key whose body is still to come, though the server has seen the rest of it. */
async function begin(key: string): Promise<RawConnection> {
  const connection = await RawConnection.open(server.url)
  const headers = [
    'POST /v1/keys HTTP/1.1',
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    // The server says that it goes on, and begins with the request in the same moment.
    'Expect: 100-continue',
  ]
  await connection.send(`${headers.join('\r\n')}\r\n\r\n`)
  await until('the go-ahead', () => (connection.received.startsWith('HTTP/1.1 100 Continue') ? true : undefined))
  await connection.send(BODY.slice(0, 1))
  return connection
}

/** The status of the answer once the body has come. */
async function end(connection: RawConnection): Promise<string> {
  await connection.send(BODY.slice(1))
  return (await connection.answer()).split('\r\n\r\n')[1]?.slice(0, 'HTTP/1.1 200'.length) ?? ''
}

const planted = async () => (await everyItem(server, '/v1/keys')).filter(({ name }) => name === 'planted')

it('does what a key asks that lives until the body is there', async () => {
  const { id, key } = await makeKey(server, ['*'])
  expect(await end(await begin(key))).toBe('HTTP/1.1 201')
  expect(await planted()).toMatchObject([{ created_by: id }])
})

it.each<[string, (id: string) => Promise<unknown>]>([
  ['was revoked', (id) => server.call('DELETE', `/v1/keys/${id}`)],
  [
    'has another text by now',
    (id) => succeed(server.call('POST', `/v1/keys/${id}/rotate`, { body: { grace_seconds: 0 } })),
  ],
])('does nothing for a key that %s before the body is there', async (_, finish) => {
  const { id, key } = await makeKey(server, ['*'])
  const before = await planted()
  const connection = await begin(key)
  await finish(id)
  expect(await end(connection)).toBe('HTTP/1.1 401')
  expect(await planted()).toEqual(before)
})

it('does nothing for a key that has expired before the body is there', async () => {
  const expires_at = new Date(server.clock.now().getTime() + 60_000).toISOString()
  const { key } = await makeKey(server, ['*'], { expires_at })
  const connection = await begin(key)
  server.clock.advance(60_000)
  expect(await end(connection)).toBe('HTTP/1.1 401')
})

it('changes nothing for a key that is revoked by a change which was before', async () => {
  const faulty = new FaultyStore()
  const other = await runServer({ parts: { openStore: faulty.open } })
  try {
    const { id, key } = await makeKey(other, ['*'])
    let go = (): void => {}
    let isHeld = false
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    faulty.commit = async (records, commit) => {
      isHeld = true
      await held
      return commit(records)
    }
    const revocation = other.call('DELETE', `/v1/keys/${id}`)
    await until('the revocation to be written', () => isHeld || undefined)
    const policy = { name: 'planted', rules: [{ action: 'a', effect: 'allow' }] }
    const making = [
      other.call('POST', '/v1/keys', { key, body: JSON.parse(BODY) }),
      other.call('POST', '/v1/policies', { key, body: policy }),
      other.call('POST', '/v1/agents/agent:a/suspend', { key }),
      other.call('DELETE', `/v1/keys/${id}`, { key }),
    ]
    expect((await other.call('GET', '/v1/keys/self', { key })).status).toBe(200)
    go()
    expect((await revocation).status).toBe(204)
    expect((await Promise.all(making)).map(({ status }) => status)).toEqual([401, 401, 401, 401])
    expect((await everyItem(other, '/v1/keys')).map(({ name }) => name)).not.toContain('planted')
    expect(await everyItem(other, '/v1/policies')).toEqual([])
    expect((await other.call('GET', '/v1/agents/agent:a')).status).toBe(404)
  } finally {
    await other.stop()
  }
})

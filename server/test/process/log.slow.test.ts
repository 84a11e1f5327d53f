/** What the server tells about itself: one JSON object a line, and never a secret. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call } from './call.js'
import { endChildren } from './child.js'
import { RawConnection } from './raw-connection.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const SECRET_VALUE = 'zebra-47-secret-of-the-context'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

describe('the log', () => {
  it('warns of an empty MONGODB_URL: a variable that was not filled in would begin a store of its own', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir, env: { MONGODB_URL: '' } })
    expect(server.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { msg: 'MONGODB_URL is empty: the embedded store in DATA_DIR is used', data_dir: dataDir },
    ])
  })

  it('has one line for each request: who asked for what, what came of it and how long it took', async () => {
    const server = await ShippedServer.start({ dataDir: newDirectory() })
    const self = (await server.call('GET', '/v1/keys/self')).body
    const ask = async (method: string, path: string, key: string | undefined, body?: object) => {
      const requestId = `request-${server.lines.length}`
      const answer = await call(server.url, method, path, {
        ...(key !== undefined && { key }),
        body,
        headers: { 'X-Request-Id': requestId },
      })
      const line = await until('its line', () => server.lines.find((one) => one.request_id === requestId))
      expect(line).toEqual({
        level: 'info',
        time: expect.any(String),
        msg: 'answered',
        request_id: requestId,
        method,
        path: path.split('?')[0],
        status: answer.status,
        duration_ms: expect.any(Number),
        ...(key === CHOSEN_KEY && { key_id: self.id }),
      })
      return answer.status
    }
    expect(await ask('POST', '/v1/decisions', CHOSEN_KEY, { agent_id: 'a', action: 'b.c' })).toBe(200)
    expect(await ask('GET', '/v1/decisions?limit=1&agent_id=hidden', CHOSEN_KEY)).toBe(200)
    expect(await ask('POST', '/v1/decisions', 'another-key-of-more-than-32-characters')).toBe(401)
    expect(await ask('POST', '/v1/policies', CHOSEN_KEY, { nonsense: true })).toBe(400)
    expect(await ask('GET', '/v1/nothing', CHOSEN_KEY)).toBe(404)
    expect(await ask('GET', '/v1/nothing/either', undefined)).toBe(401)
    expect(await ask('PUT', '/v1/decisions', CHOSEN_KEY)).toBe(405)
    expect(await ask('GET', '/readyz', undefined)).toBe(200)
    expect(await ask('GET', '/%zz', undefined)).toBe(404)
    expect(server.stdout).not.toContain('hidden')

    const leaving = await RawConnection.open(server.url)
    await leaving.send(
      `POST /v1/decisions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${CHOSEN_KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    )
    leaving.close()
    await until('its line', () => server.lines.find(({ msg }) => msg === 'not answered: the caller has disconnected'))
  })

  it('comes in few writes, and soon: no line wakes a thread of its own', async () => {
    const server = await ShippedServer.start({ dataDir: newDirectory() })
    const written: string[] = []
    server.process.stdout?.on('data', (text: string) => void written.push(text))
    const started = performance.now()
    for (let i = 0; i < 300; i += 1) await server.call('GET', '/v1/keys/self')
    const lines = () => server.lines.filter(({ path }) => path === '/v1/keys/self')
    await until('the last line', () => lines().length === 300)
    const elapsedMs = performance.now() - started
    const bytes = written.join('').length
    // A pipe may hand over a write in two pieces.
    expect(written.length).toBeLessThanOrEqual(2 * (elapsedMs / 20 + bytes / 3072 + 1))
  })

  it('has no secret in it at any level, nor has standard error', async () => {
    const dataDir = newDirectory()
    const env = { LOG_LEVEL: 'trace', METRICS_TOKEN: 'a-token-for-the-metrics', COUNTERSIGN_BOOTSTRAP_KEY: '' }
    const server = await ShippedServer.start({ dataDir, env })
    const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
    expect(statSync(join(dataDir, 'bootstrap-key')).mode & 0o777).toBe(0o600)
    const ask = (method: string, path: string, body?: unknown, headers = {}, as = key) =>
      call(server.url, method, path, { key: as, body, headers })
    await ask('POST', '/v1/policies', { name: 'all', rules: [{ action: '*', effect: 'allow' }] })
    const made = (await ask('POST', '/v1/keys', { name: 'k', scopes: ['*'] })).body
    const rotated = (await ask('POST', `/v1/keys/${made.id}/rotate`, {})).body
    const asked = { agent_id: 'agent:a', action: 'payment.refund', context: { note: SECRET_VALUE, [SECRET_VALUE]: 1 } }
    const token = (await ask('POST', '/v1/decisions', asked, { 'Idempotency-Key': 'once' })).body.permit_token
    expect(token).toMatch(/^eyJ/)
    const order = countersign(['keys', 'create'], { env: { DATA_DIR: dataDir } })
    await order.end()

    // All the ways to go wrong with a secret in hand.
    const statuses = [
      await ask('POST', '/v1/decisions', asked, { 'Idempotency-Key': 'once' }),
      await ask('POST', '/v1/decisions', { ...asked, extra: SECRET_VALUE }),
      await ask('POST', '/v1/decisions', { ...asked, context: { note: SECRET_VALUE, 'a.b': SECRET_VALUE } }),
      await ask('POST', '/v1/decisions', { ...asked, context: { note: SECRET_VALUE.repeat(4000) } }),
      await ask('POST', '/v1/permits/redeem', { permit_token: token }),
      await ask('POST', '/v1/permits/redeem', { permit_token: `${token}x` }),
      await ask('POST', '/v1/permits/redeem', { permit_token: token }, {}, `${key}x`),
      await ask('GET', `/v1/keys/${key}`),
      await ask('GET', `/v1/decisions/${token}`),
      await ask('GET', `/v1/decisions?cursor=${SECRET_VALUE}`),
      await ask('GET', `/metrics?token=${key}`, undefined, {}, 'a-token-for-the-metrics'),
      await ask('DELETE', `/v1/keys/${made.id}`),
      await ask('GET', '/v1/keys/self', undefined, {}, rotated.key),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 400, 400, 413, 200, 400, 401, 404, 404, 400, 200, 204, 401])
    const raw = await RawConnection.open(server.url)
    await raw.send(`POST /v1/decisions HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nbroken ${SECRET_VALUE}\r\n\r\n`)
    await raw.answer()
    expect((await server.stop()).code).toBe(0)

    const said = server.stdout + server.stderr
    for (const line of said.trim().split('\n')) expect(JSON.parse(line)).toBeInstanceOf(Object)
    for (const secret of [key, made.key, rotated.key, order.stdout.trim(), token, SECRET_VALUE, env.METRICS_TOKEN]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(said).not.toContain(secret)
    }
    for (const part of token.split('.')) expect(said).not.toContain(part)
    expect(said).not.toMatch(/[Bb]earer|cs_sk_[0-9A-Za-z]/)
  })
})

describe('the first key', () => {
  it('that the operator chose is honoured and told nowhere; once there are keys it is ignored, with a warning', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    expect((await server.call('GET', '/v1/keys/self')).body).toMatchObject({ name: 'bootstrap', scopes: ['*'] })
    await server.stop()
    const another = 'another-key-of-more-than-32-characters'
    const next = await ShippedServer.start({ dataDir, env: { COUNTERSIGN_BOOTSTRAP_KEY: another } })
    expect((await next.call('GET', '/v1/keys/self')).status).toBe(200)
    expect((await next.call('GET', '/v1/keys/self', { key: another })).status).toBe(401)
    const warnings = next.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)
    expect(warnings).toEqual([expect.stringContaining('COUNTERSIGN_BOOTSTRAP_KEY is ignored')])
    expect(existsSync(join(dataDir, 'bootstrap-key'))).toBe(false)
    for (const { stdout, stderr } of [server, next]) expect(stdout + stderr).not.toMatch(/key-of-more|key-for-tests/)
  })
})

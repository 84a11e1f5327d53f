/** GET /v1/decisions/{id}?wait= : the long poll. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, decide, makeKey, REFUNDS, REVIEWED } from './refunds.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const read = (id: string, wait: string) => server.call('GET', `/v1/decisions/${id}?wait=${wait}`)

describe('200', () => {
  it('answers at once what awaits no review', async () => {
    const { id } = await decide(server, ALLOWED)
    expect((await read(id, '30')).body.status).toBe('authorized')
  })

  it('answers when the time to wait is over, with the review as it is', async () => {
    const { id } = await decide(server, REVIEWED)
    expect((await read(id, '0')).body.status).toBe('awaiting_review')
    expect((await read(id, '1')).body.status).toBe('awaiting_review')
  })

  it('answers as soon as the review is over, long before the time to wait', async () => {
    const { id } = await decide(server, REVIEWED)
    const waiting = read(id, '30')
    await read(id, '0')
    server.clock.advance(24 * 60 * 60 * 1000)
    expect((await waiting).body).toMatchObject({ status: 'expired', review: { status: 'expired' } })
  })
})

describe('401', () => {
  it('is the answer when the key was revoked while it waited', async () => {
    const { id } = await decide(server, REVIEWED)
    const watcher = await makeKey(server, ['decisions:read'])
    const waiting = server.call('GET', `/v1/decisions/${id}?wait=30`, { key: watcher.key })
    await read(id, '0')
    await server.call('DELETE', `/v1/keys/${watcher.id}`)
    server.clock.advance(24 * 60 * 60 * 1000)
    expect((await waiting).status).toBe(401)
  })
})

describe('400', () => {
  it.each(['31', '-1', '1.5', '', 'x'])('refuses to wait for %j seconds', async (wait) => {
    const answer = await read('dec_none', wait)
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/wait' }] } })
  })
})

import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { readConfig } from '#server/config'
import { RateLimit } from '#server/http/rate-limit'
import { type RunningServer, runServer } from '../running-server.js'
import { decide, makeKey } from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
// The bucket fills with the process's own time, so that nobody's clock can empty it. The other clock goes with it: where they
// part, a server that shares its store takes itself for one that was frozen.
beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'Date'] }))
afterEach(async () => {
  vi.useRealTimers()
  await server.stop()
})

const run = async (rateLimitPerSecond: number) => {
  server = await runServer({ settings: { rateLimitPerSecond } })
}
const ask = (key: string | null = server.key) => server.call('GET', '/v1/keys/self', { key })
const statuses = async (count: number, key = server.key) => {
  const answers = await Promise.all(Array.from({ length: count }, () => ask(key)))
  return {
    ok: answers.filter(({ status }) => status === 200).length,
    limited: answers.filter(({ status }) => status === 429).length,
  }
}

it('lets through as many at once as the bucket holds, and then as many a second', async () => {
  await run(10)
  expect(await statuses(30)).toEqual({ ok: 10, limited: 20 })
  vi.advanceTimersByTime(99)
  expect(await statuses(1)).toEqual({ ok: 0, limited: 1 })
  vi.advanceTimersByTime(1)
  expect(await statuses(2)).toEqual({ ok: 1, limited: 1 })
  vi.advanceTimersByTime(500)
  expect(await statuses(10)).toEqual({ ok: 5, limited: 5 })
  vi.advanceTimersByTime(60_000)
  // One that shares its store was away for a minute, and looks first; a call without a key takes no token.
  await until('it to serve', async () => ((await ask(null)).status === 401 ? true : undefined))
  expect(await statuses(30)).toEqual({ ok: 10, limited: 20 })
})

it('tells a whole number of seconds, at least 1, after which there is a token', async () => {
  for (const perSecond of [1, 3, 40]) {
    await run(perSecond)
    expect((await statuses(perSecond)).limited).toBe(0)
    const answer = await ask()
    expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited', title: 'Too many requests.' } })
    expect(answer.headers.get('retry-after')).toBe('1')
    vi.advanceTimersByTime(1000)
    expect((await ask()).status).toBe(200)
    if (perSecond !== 40) await server.stop()
  }
})

it('counts each API key by itself', async () => {
  await run(3)
  const one = await makeKey(server, ['keys:read'])
  const two = await makeKey(server, ['keys:read'])
  expect(await statuses(5, one.key)).toEqual({ ok: 3, limited: 2 })
  expect(await statuses(5, two.key)).toEqual({ ok: 3, limited: 2 })
  expect(await statuses(5)).toEqual({ ok: 1, limited: 4 })
})

it('counts both texts of a rotated key as one', async () => {
  await run(3)
  const { id, key } = await makeKey(server, ['keys:read'])
  const rotated = (await server.call('POST', `/v1/keys/${id}/rotate`)).body.key
  expect((await statuses(2, key)).ok).toBe(2)
  expect((await statuses(2, rotated)).ok).toBe(1)
})

it('decides nothing that it refuses', async () => {
  await run(1)
  await decide(server, { agent_id: 'agent:a', action: 'a.b' })
  const before = await stored(server)
  for (let i = 0; i < 5; i++)
    expect((await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'a.b' } })).status).toBe(
      429,
    )
  expect(await stored(server)).toEqual(before)
})

it('does not count what has no valid key, nor what needs none', async () => {
  await run(2)
  for (let i = 0; i < 10; i++) {
    expect((await server.call('GET', '/v1/keys/self', { key: null })).status).toBe(401)
    expect((await server.call('GET', '/livez')).status).toBe(200)
    expect((await server.call('GET', '/.well-known/jwks.json')).status).toBe(200)
  }
  expect(await statuses(3)).toEqual({ ok: 2, limited: 1 })
})

it('is off at 0, and 1,000 a second unless set', async () => {
  await run(0)
  expect(await statuses(100)).toEqual({ ok: 100, limited: 0 })
  const off = new RateLimit(0)
  for (let i = 0; i < 5000; i++) expect(off.take('key_a')).toBeNull()
  expect(readConfig({}).rateLimitPerSecond).toBe(1000)
})

/** Where a request is wrong in several ways, which of them is told: the order of the reference, pair by pair. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'

let server: RunningServer
let reader: string
beforeAll(async () => {
  server = await runServer()
  reader = (await makeKey(server, ['decisions:read'])).key
})
afterAll(() => server.stop())

const NONE = 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'
const TOO_LARGE = `{"a":"${'x'.repeat(256 * 1024)}"}`
const code = (answer: { body: { code: string } }) => answer.body.code

it.each([
  ['GET', '/v1/nowhere'],
  ['GET', '/v1'],
  ['POST', '/v1/'],
  ['PATCH', '/v1/policies'],
  ['GET', '/v1/policies/%zz'],
  ['OPTIONS', '/v1/decisions'],
])('401 comes before 404 and 405: %s %s', async (method, path) => {
  for (const key of [null, 'cs_sk_nonsense', 'an-unknown-key-of-more-than-32-characters'])
    expect(await server.call(method, path, { key })).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
})

it('404 and 405 come before 429 and cost no token of the bucket', async () => {
  const limited = await runServer({ settings: { rateLimitPerSecond: 1 } })
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    for (let i = 0; i < 3; i++) {
      expect(code(await limited.call('GET', '/v1/nowhere'))).toBe('not_found')
      expect(code(await limited.call('DELETE', '/v1/policies'))).toBe('method_not_allowed')
    }
    expect((await limited.call('GET', '/v1/keys/self')).status).toBe(200)
    expect(code(await limited.call('GET', '/v1/keys/self'))).toBe('rate_limited')
    expect(code(await limited.call('GET', '/v1/nowhere'))).toBe('not_found')
    expect(code(await limited.call('GET', '/v1/keys/self', { key: null }))).toBe('unauthorized')
  } finally {
    vi.useRealTimers()
    await limited.stop()
  }
})

it('429 comes before the scope', async () => {
  const limited = await runServer({ settings: { rateLimitPerSecond: 2 } })
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const { key } = await makeKey(limited, ['decisions:read'])
    expect(code(await limited.call('GET', '/v1/policies', { key }))).toBe('insufficient_scope')
    expect(code(await limited.call('GET', '/v1/policies', { key }))).toBe('insufficient_scope')
    expect(code(await limited.call('GET', '/v1/policies', { key }))).toBe('rate_limited')
  } finally {
    vi.useRealTimers()
    await limited.stop()
  }
})

it('the scope comes before the size, the type and the body', async () => {
  const wrong = [
    { body: TOO_LARGE },
    { body: '{}', headers: { 'Content-Type': 'text/plain' } },
    { body: '{' },
    { body: { odd: 1 } },
  ]
  for (const options of wrong)
    expect(code(await server.call('POST', '/v1/policies', { key: reader, ...options }))).toBe('insufficient_scope')
  expect(code(await server.call('GET', '/v1/policies?odd=1', { key: reader }))).toBe('insufficient_scope')
  expect(code(await server.call('GET', `/v1/policies/${NONE}`, { key: reader }))).toBe('insufficient_scope')
})

it('the size and the type come before the text of the body', async () => {
  const compressed = await server.call('POST', '/v1/decisions', { body: '{', headers: { 'Content-Encoding': 'gzip' } })
  expect(code(compressed)).toBe('unsupported_media_type')
  expect(code(await server.call('POST', '/v1/decisions', { body: `{${'x'.repeat(64 * 1024)}` }))).toBe('body_too_large')
})

it('the body comes before the agent', async () => {
  const { key } = await makeKey(server, ['decisions:write', 'policies:read'], { agents: ['agent:one'] })
  const body = { agent_id: 'agent:two', action: 'not an action' }
  expect(await server.call('POST', '/v1/decisions', { key, body })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/action' }] },
  })
  const right = { agent_id: 'agent:two', action: 'mail.send' }
  expect(code(await server.call('POST', '/v1/decisions', { key, body: right }))).toBe('agent_not_allowed')
  expect(code(await server.call('POST', '/v1/decisions?odd=1', { key, body: right }))).toBe('validation_failed')
  const badKey = { 'Idempotency-Key': 'with blank' }
  expect(code(await server.call('POST', '/v1/decisions', { key, body: right, headers: badKey }))).toBe(
    'validation_failed',
  )
  const budget = { limit: -1, unit: 'EUR', period: 'daily' }
  const simulation = { request: right, policies: [{ ...allowing('mail.send'), budget }] }
  expect(code(await server.call('POST', '/v1/simulate', { key, body: simulation }))).toBe('validation_failed')
})

it('the body comes before the id in the path', async () => {
  const wrong: [string, string, object][] = [
    ['PUT', `/v1/policies/${NONE}`, { body: {} }],
    ['PUT', `/v1/policies/${NONE}`, { body: allowing('a.b'), headers: { 'If-Match': 'no quotes' } }],
    [
      'PUT',
      `/v1/policies/${NONE}`,
      { body: { ...allowing('a.b'), budget: { limit: -1, unit: 'EUR', period: 'daily' } } },
    ],
    ['PUT', '/v1/agents/agent:nobody', { body: { odd: 1 } }],
    ['POST', '/v1/keys/key_nobody/rotate', { body: { grace_seconds: -1 } }],
    ['POST', '/v1/agents/not%20an%20id/suspend', { body: { odd: 1 } }],
    ['GET', `/v1/policies/${NONE}?odd=1`, {}],
    ['GET', `/v1/policies/${NONE}/revisions?limit=0`, {}],
    ['DELETE', `/v1/policies/${NONE}?odd=1`, {}],
    ['DELETE', `/v1/policies/${NONE}`, { headers: { 'If-Match': 'no quotes' } }],
  ]
  for (const [method, path, options] of wrong)
    expect(await server.call(method, path, options), `${method} ${path}`).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    })
})

it('the id in the path comes before the revision and the name', async () => {
  const taken = await createPolicy(server, allowing('a.b'))
  const headers = { 'If-Match': '"7"' }
  const body = { ...allowing('a.b'), name: taken.name }
  expect(code(await server.call('PUT', `/v1/policies/${NONE}`, { body, headers }))).toBe('not_found')
  expect(code(await server.call('DELETE', `/v1/policies/${NONE}`, { headers }))).toBe('not_found')
  const other = await createPolicy(server, allowing('a.b'))
  expect((await server.call('PUT', `/v1/policies/${other.id}`, { body, headers })).status).toBe(412)
  expect(code(await server.call('PUT', `/v1/policies/${other.id}`, { body }))).toBe('policy_name_taken')
})

it('400 and 403 come before a reused idempotency key, and that before every 409', async () => {
  const { key } = await makeKey(server, ['decisions:write'], { agents: ['agent:one'] })
  const headers = { 'Idempotency-Key': 'order-1' }
  await decide(server, { agent_id: 'agent:one', action: 'mail.send' })
  const ask = (body: object) => server.call('POST', '/v1/decisions', { key, headers, body })
  await succeed(ask({ agent_id: 'agent:one', action: 'mail.send', holder: 'a' }))
  expect(code(await ask({ agent_id: 'agent:one', action: 'odd action' }))).toBe('validation_failed')
  expect(code(await ask({ agent_id: 'agent:two', action: 'mail.send' }))).toBe('agent_not_allowed')
  expect(code(await ask({ agent_id: 'agent:one', action: 'mail.read', holder: 'b' }))).toBe('idempotency_key_reused')

  const create = (path: string, body: object) => server.call('POST', path, { headers, body })
  const first = allowing('a.b')
  await succeed(create('/v1/policies', first))
  const limited = { ...allowing('a.b'), budget: { limit: -1, unit: 'EUR', period: 'daily' } }
  expect(code(await create('/v1/policies', limited))).toBe('validation_failed')
  expect(code(await create('/v1/policies', { ...first, priority: 1 }))).toBe('idempotency_key_reused')

  await succeed(create('/v1/agents', { id: 'agent:order' }))
  expect(code(await create('/v1/agents', { id: 'agent:order', name: 'again' }))).toBe('idempotency_key_reused')

  const narrow = (await makeKey(server, ['keys:write'])).key
  const make = (body: object) => server.call('POST', '/v1/keys', { key: narrow, headers, body })
  await succeed(make({ name: 'one', scopes: ['keys:write'] }))
  expect(code(await make({ name: 'one', scopes: ['*'] }))).toBe('key_too_wide')
  expect(code(await make({ name: 'one', scopes: ['keys:write'], expires_at: '2020-01-01T00:00:00.000Z' }))).toBe(
    'validation_failed',
  )
  expect(code(await make({ name: 'two', scopes: ['keys:write'] }))).toBe('idempotency_key_reused')
})

it('a permit that is none comes before a reused idempotency key, and that before a permit that is used', async () => {
  await createPolicy(server, allowing('gate.open'))
  const asked = { agent_id: 'agent:one', action: 'gate.open' }
  const [one, two] = [await decide(server, asked), await decide(server, asked)]
  const headers = { 'Idempotency-Key': 'order-1' }
  const redeem = (permit_token: string, key = server.key) =>
    server.call('POST', '/v1/permits/redeem', { key, headers, body: { permit_token } })
  await succeed(redeem(one.permit_token))
  expect(code(await redeem('a.b.c'))).toBe('permit_invalid')
  expect(code(await redeem(two.permit_token))).toBe('idempotency_key_reused')
  const bound = (await makeKey(server, ['permits:redeem', 'decisions:write'], { agents: ['agent:two'] })).key
  const mine = await decide(server, { ...asked, agent_id: 'agent:two' })
  await succeed(redeem(mine.permit_token, bound))
  expect(code(await redeem(two.permit_token, bound))).toBe('not_found')
})

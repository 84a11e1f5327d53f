/** Request ids and the headers that every answer has. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { decide, everyItem } from './refunds.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())

/** One of each kind of answer. */
const ANSWERS: readonly (readonly [method: string, path: string, status: number, options?: object])[] = [
  ['GET', '/v1/keys/self', 200],
  ['HEAD', '/v1/policies', 200],
  ['POST', '/v1/agents/agent:a/resume', 200],
  ['GET', '/v1/policies?odd=1', 400],
  ['POST', '/v1/decisions', 400, { body: '{' }],
  ['GET', '/v1/keys/self', 401, { key: null }],
  ['GET', '/v1/nowhere', 404],
  ['GET', '/v1/policies/%zz', 404],
  ['GET', '/nowhere', 404],
  ['GET', '/%zz', 404],
  ['PATCH', '/v1/policies', 405],
  ['POST', '/v1/policies', 415, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
  ['GET', '/livez', 200, { key: null }],
  ['GET', '/readyz', 200, { key: null }],
  ['GET', '/openapi.json', 200, { key: null }],
  ['GET', '/.well-known/jwks.json', 200, { key: null }],
]

describe('X-Request-Id', () => {
  it.each([
    '1',
    'x'.repeat(128),
    'A-z_0.9-',
    'sl/ash',
    '!"#$%&\'()*+-./:;<=>?@[\\]^_`{|}~',
    'Root=1-67891233-abcdef012345678912345678',
  ])('is taken over when it is %s', async (id) => {
    for (const [method, path, status, options] of ANSWERS) {
      const headers = { ...(options as { headers?: object })?.headers, 'X-Request-Id': id }
      const answer = await server.call(method, path, { ...options, headers })
      expect(answer.status, path).toBe(status)
      expect(answer.headers.get('x-request-id'), path).toBe(id)
      if (status >= 400 && path !== '/readyz') expect(answer.body.request_id, path).toBe(id)
    }
  })

  it.each(['x'.repeat(129), 'with blank', 'a,b', ',', 'ümlaut-id', '12345678, 12345678', 'tab\there', ''])(
    'is made when it is %j',
    async (id) => {
      for (const [method, path, , options] of ANSWERS) {
        const headers = { ...(options as { headers?: object })?.headers, 'X-Request-Id': id }
        const answer = await server.call(method, path, { ...options, headers })
        expect(answer.headers.get('x-request-id'), path).toMatch(/^req_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      }
    },
  )

  it('is another one for each request, and kept with the decision', async () => {
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await server.call('GET', '/livez')).headers.get('x-request-id')),
    )
    expect(new Set(ids).size).toBe(50)
    const asked = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'a.b' } })
    const [kept] = await everyItem(server, '/v1/decisions')
    expect(kept.request_id).toBe(asked.headers.get('x-request-id'))
  })

  it('is in the log line of each request', async () => {
    for (const [index, [method, path, , options]] of ANSWERS.entries()) {
      if (!path.startsWith('/v1')) continue
      const id = `log-line-${index}`
      const headers = { ...(options as { headers?: object })?.headers, 'X-Request-Id': id }
      await server.call(method, path, { ...options, headers })
      const lines = server.logged.filter(({ fields }) => (fields as { request_id?: string }).request_id === id)
      expect(lines.length, path).toBeGreaterThan(0)
    }
  })
})

describe('every answer', () => {
  it('has the security headers, and tells nothing of what made it', async () => {
    for (const [method, path, status, options] of ANSWERS) {
      const { headers } = await server.call(method, path, options)
      const where = `${method} ${path} ${status}`
      expect(headers.get('x-content-type-options'), where).toBe('nosniff')
      expect(headers.get('x-frame-options'), where).toMatch(/^(DENY|SAMEORIGIN)$/)
      expect(headers.get('content-security-policy'), where).toContain("default-src 'none'")
      expect(headers.get('referrer-policy'), where).toBe('no-referrer')
      expect(headers.has('x-powered-by'), where).toBe(false)
      expect(headers.has('server'), where).toBe(false)
      expect(headers.has('set-cookie'), where).toBe(false)
      expect(headers.has('access-control-allow-origin'), where).toBe(false)
    }
  })

  it('is stored by no cache, the key set apart', async () => {
    for (const [method, path, status, options] of ANSWERS) {
      const { headers } = await server.call(method, path, options)
      const wanted = path.endsWith('jwks.json') ? 'public, max-age=60' : 'no-store'
      expect(headers.get('cache-control'), `${method} ${path} ${status}`).toBe(wanted)
    }
  })

  it('under /v1 is JSON, and a problem says so', async () => {
    for (const [method, path, status, options] of ANSWERS.filter(([, path]) => path.startsWith('/v1'))) {
      const { headers } = await server.call(method, path, options)
      expect(headers.get('content-type'), `${method} ${path} ${status}`).toBe(
        status >= 400 ? 'application/problem+json' : 'application/json',
      )
    }
  })

  it('of a connection that is kept is the answer to its own request', async () => {
    const asked = Array.from({ length: 40 }, (_, i) => ({ agent_id: `agent:${i}`, action: 'a.b' }))
    const answers = await Promise.all(asked.map((request) => decide(server, request)))
    expect(answers.map(({ agent_id }) => agent_id)).toEqual(asked.map(({ agent_id }) => agent_id))
  })
})

/** The statuses that every endpoint shares, for each route of the table; what a resource adds is told in its own suite. */
import { LIMITS } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Route } from '#server/http/route'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy } from './refunds.js'
import { type RouteCase, routeCases } from './route-cases.js'
import { stored } from './stored.js'

let server: RunningServer
let cases: Readonly<Record<string, RouteCase>>
let routes: readonly Route[]
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  cases = routeCases(server)
  routes = server.started.composed.routes
  await createPolicy(server, allowing('*'))
})
afterAll(() => server.stop())

const requestOf = async (route: Route) => (cases[route.name] as RouteCase).request()
const withBody = () => routes.filter((route) => route.body !== undefined)

const prepared = new Map<string, Awaited<ReturnType<typeof requestOf>>>()

/** A request that would succeed. What is refused changes nothing, so the same one serves every refusal. */
async function refusable(route: Route) {
  const found = prepared.get(route.name) ?? (await requestOf(route))
  prepared.set(route.name, found)
  return found
}

/** Calls each route with what `make` makes of a good request, and sees that nothing changes. */
async function expectRefused(
  chosen: readonly Route[],
  make: (request: { path: string; body?: unknown }, route: Route) => object & { path?: string; method?: string },
  expected: object,
): Promise<void> {
  expect(chosen.length).toBeGreaterThan(0)
  for (const route of chosen) await refusable(route)
  // Looking at a whole store takes longer than all of these calls.
  const before = await stored(server)
  for (const route of chosen) {
    const request = await refusable(route)
    const { path = request.path, method = route.method, ...options } = make(request, route)
    expect(await server.call(method, path, { body: request.body, ...options }), route.name).toMatchObject(expected)
  }
  expect(await stored(server)).toEqual(before)
}

describe('success', () => {
  it('is the status of the table, with a request id, never stored by a cache', async () => {
    for (const route of routes) {
      const { path, body } = await requestOf(route)
      const answer = await server.call(route.method, path, { body })
      expect(answer.status, route.name).toBe(route.answer.status)
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('has no body for HEAD, and the headers of GET', async () => {
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const { path } = await requestOf(route)
      const answer = await server.call('HEAD', path)
      expect(answer, route.name).toMatchObject({ status: 200, body: undefined })
      if (route.isUnbounded !== true) expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(0)
    }
  })

  it('takes a body of exactly the largest size', async () => {
    for (const route of withBody()) {
      const { path, body } = await requestOf(route)
      const text = JSON.stringify(body ?? {}).padEnd(route.body?.maxBytes as number)
      expect((await server.call(route.method, path, { body: text })).status, route.name).toBe(route.answer.status)
    }
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'takes a body of type %s',
    async (type) => {
      for (const route of withBody()) {
        const { path, body = {} } = await requestOf(route)
        const answer = await server.call(route.method, path, { body, headers: { 'Content-Type': type } })
        expect(answer.status, route.name).toBe(route.answer.status)
      }
    },
  )
})

describe('400', () => {
  it('names a query parameter that the route does not know', () =>
    expectRefused(routes, ({ path }) => ({ path: `${path}${path.includes('?') ? '&' : '?'}odd=1` }), {
      status: 400,
      body: {
        code: 'validation_failed',
        errors: [{ pointer: '/odd', detail: 'is not a query parameter of this endpoint' }],
      },
    }))

  it('refuses a text that is no JSON, and says where', () =>
    expectRefused(withBody(), () => ({ body: '{"a":1,}' }), {
      status: 400,
      body: { code: 'malformed_json', detail: 'Line 1, column 8: expected a key in double quotes.' },
    }))

  it.each(['[]', 'null', '"text"', '1', 'true'])('names "" for a body that is no object: %s', (body) =>
    expectRefused(withBody(), () => ({ body }), {
      status: 400,
      body: { code: 'validation_failed', errors: [{ pointer: '', detail: 'must be an object' }] },
    }),
  )

  it('names a member that the body may not have', () =>
    expectRefused(
      withBody().filter(({ name }) => name !== 'policies.validate'),
      ({ body = {} }) => ({ body: { ...(body as object), 'odd/~': 1 } }),
      { status: 400, body: { code: 'validation_failed', errors: [{ pointer: '/odd~1~0' }] } },
    ))

  it('refuses an idempotency key that is none', async () => {
    for (const key of ['with blank', 'x'.repeat(256), 'caf\u00e9', ''])
      await expectRefused(
        routes.filter(({ replay }) => replay !== undefined),
        () => ({ headers: { 'Idempotency-Key': key } }),
        { status: 400, body: { errors: [{ pointer: '/Idempotency-Key' }] } },
      )
  })

  it('does not know a body that is missing where one is needed', () =>
    expectRefused(
      withBody().filter(({ body }) => body?.mayBeEmpty !== true),
      () => ({ body: undefined }),
      { status: 400, body: { code: 'malformed_json', detail: 'Line 1, column 1: the body is empty.' } },
    ))
})

describe('401', () => {
  it('is told without a key and with one that is none', async () => {
    for (const key of [null, 'cs_sk_nonsense'])
      await expectRefused(routes, () => ({ key }), {
        status: 401,
        body: { code: 'unauthorized', title: 'The API key is missing or not valid.' },
      })
  })
})

describe('404', () => {
  it('is told of ids that are ill-formed, and of ids of nothing', async () => {
    const named = routes.filter(({ path }) => path.includes('{id}'))
    const replaced = (route: Route, id: string) => ({ path: route.path.replace('{id}', encodeURIComponent(id)) })
    for (const id of [' ', '%', 'a b', '..x', '\u0000', '_', 'é', '$ne', '-x', 'x'.repeat(600)])
      await expectRefused(named, (_, route) => replaced(route, id), { status: 404, body: { code: 'not_found' } })
    // The kill switch works for any id that an agent can have, seen or not.
    const known = named.filter(({ name }) => name !== 'agents.suspend' && name !== 'agents.resume')
    for (const prefix of ['dec', 'pol', 'key', 'agt'])
      await expectRefused(known, (_, route) => replaced(route, `${prefix}_01kagx3v5ne8sr6w1y6gqk4t2h`), { status: 404 })
  })

  it('is told of paths that are nearly one', async () => {
    for (const path of ['/v1/policies/', '/v1/Policies', '/v1/policies//', '/v1//policies', '/v1/decisions/x/y', '/v1'])
      expect(await server.call('GET', path), path).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await server.call('GET', '/v2/policies')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await server.call('GET', '/policies')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('405', () => {
  it('is told of every other method, with those that are allowed', async () => {
    const paths = new Map<string, string[]>()
    for (const { path, method } of routes) paths.set(path, [...(paths.get(path) ?? []), method])
    for (const [path, ofRoutes] of paths) {
      const methods = ofRoutes.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method))
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].filter(
        (method) => !methods.includes(method),
      )
      for (const method of others) {
        const answer = await server.call(method, path.replace('{id}', 'x'))
        expect(answer.status, `${method} ${path}`).toBe(405)
        expect(answer.headers.get('allow')?.split(', ')).toEqual(methods)
        if (method !== 'HEAD')
          expect(answer.body).toMatchObject({
            code: 'method_not_allowed',
            detail: `Allowed methods: ${methods.join(', ')}.`,
          })
      }
    }
  })
})

describe('413', () => {
  it('is told of a body of one byte more than the largest, with and without its length', async () => {
    const large = (route: Route) => JSON.stringify({}).padEnd((route.body?.maxBytes as number) + 1)
    const expected = { status: 413, body: { code: 'body_too_large' } }
    await expectRefused(withBody(), (_, route) => ({ body: large(route) }), expected)
    await expectRefused(withBody(), (_, route) => ({ body: new Blob([large(route)]).stream() }), expected)
    const sizes = withBody().map(({ name, body }) => [
      name === 'decisions.decide' ? 64 * 1024 : 256 * 1024,
      body?.maxBytes,
    ])
    for (const [size, actual] of sizes) expect(actual).toBe(size)
    expect([LIMITS.decisionBodyBytes, LIMITS.bodyBytes]).toEqual([64 * 1024, 256 * 1024])
  })
})

describe('415', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/jsonx',
    'application/json, application/json',
    'application/problem+json',
    'multipart/form-data; boundary=x',
  ])('is told of a body of type %s', (type) =>
    expectRefused(withBody(), ({ body = {} }) => ({ body, headers: { 'Content-Type': type } }), {
      status: 415,
      body: { code: 'unsupported_media_type' },
    }),
  )

  it.each(['gzip', 'br', 'deflate', 'identity', 'zstd'])('is told of the content encoding %s', (encoding) =>
    expectRefused(withBody(), ({ body = {} }) => ({ body, headers: { 'Content-Encoding': encoding } }), {
      status: 415,
      body: { code: 'unsupported_media_type', detail: '`Content-Encoding` is not supported.' },
    }),
  )
})

describe('429', () => {
  it('is told by every route once the bucket is empty, with the whole seconds to wait', async () => {
    const limited = await runServer({ settings: { rateLimitPerSecond: 1 } })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      expect((await limited.call('GET', '/v1/keys/self')).status).toBe(200)
      for (const route of routes) {
        const { path, body } = await refusable(route)
        const answer = await limited.call(route.method, path, { body })
        expect(answer, route.name).toMatchObject({
          status: 429,
          body: { code: 'rate_limited', detail: 'Retry in 1 s.' },
        })
        expect(answer.headers.get('retry-after')).toBe('1')
      }
      vi.advanceTimersByTime(1000)
      expect(await limited.call('GET', '/v1/audit?type=policy.created')).toMatchObject({
        status: 200,
        body: { data: [] },
      })
    } finally {
      vi.useRealTimers()
      await limited.stop()
    }
  })
})

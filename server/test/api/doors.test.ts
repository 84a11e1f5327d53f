/**
 * Every route of the table against every scope and against keys that are bound to agents. A route without a case here
 * fails the suite.
 */
import { SCOPES, type Scope, UNBINDABLE_SCOPES } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Route } from '#server/http/route'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey } from './refunds.js'
import { AGENT, type RouteCaller, type RouteCase, routeCases } from './route-cases.js'
import { stored } from './stored.js'

const SINGLE_SCOPES = SCOPES.filter((scope) => scope !== '*')

let server: RunningServer
let cases: Readonly<Record<string, RouteCase>>
const keyOf = new Map<Scope, string>()
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  cases = routeCases(server)
  await createPolicy(server, allowing('*'))
  for (const scope of SCOPES) keyOf.set(scope, (await makeKey(server, [scope])).key)
})
afterAll(() => server.stop())

function caseOf(route: Route): RouteCase {
  const found = cases[route.name]
  if (found === undefined) throw new Error(`The route ${route.name} has no case here.`)
  return found
}

async function ask(route: Route, caller: RouteCaller) {
  const { path, body } = await caseOf(route).request(caller)
  return server.call(route.method, path, { key: caller.key, body })
}

/** The scopes of which one is missing for a key of these. */
function missing({ scopes: rule }: Route, held: readonly Scope[]): readonly Scope[] {
  if ('all' in rule) return rule.all.filter((scope) => !held.includes(scope))
  return rule.any.some((scope) => held.includes(scope)) ? [] : rule.any
}

/** A set of scopes that opens the door and is as small as can be. */
function needed({ scopes: rule }: Route): readonly Scope[][] {
  return 'all' in rule ? [[...rule.all]] : rule.any.map((scope) => [scope])
}

it('has a case for every route and no other', () => {
  const names = server.started.composed.routes.map((route) => route.name)
  expect(Object.keys(cases).sort()).toEqual([...names].sort())
  expect(new Set(names).size).toBe(names.length)
})

describe('scopes', () => {
  it('opens each door to a key that holds exactly the scopes of the route', async () => {
    for (const route of server.started.composed.routes) {
      const { alsoNeeds = [] } = caseOf(route)
      for (const scopes of needed(route).flatMap((set) => (set.length > 0 ? [[...set, ...alsoNeeds]] : []))) {
        const { key } = await makeKey(server, scopes)
        const answer = await ask(route, { key, scopes })
        expect(answer.status, `${route.name} with ${scopes}`).toBe(route.answer.status)
      }
    }
  })

  it('keeps each door shut to a key of all scopes but one that is needed, and names it', async () => {
    for (const route of server.started.composed.routes) {
      for (const scopes of 'all' in route.scopes ? route.scopes.all.map((scope) => [scope]) : [route.scopes.any]) {
        const others = SINGLE_SCOPES.filter((scope) => !scopes.includes(scope))
        const { key } = await makeKey(server, others)
        const { path, body } = await caseOf(route).request()
        const before = await stored(server)
        const answer = await server.call(route.method, path, { key, body })
        expect(answer, route.name).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
        expect(answer.body.detail).toBe(
          `This needs the scope ${scopes.join(' or ')}; the key has ${others.join(', ')}.`,
        )
        expect(await stored(server)).toEqual(before)
      }
    }
  })

  it('answers every route and every single scope as the table says', async () => {
    for (const route of server.started.composed.routes) {
      const request = await caseOf(route).request()
      for (const scope of SINGLE_SCOPES.filter((one) => missing(route, [one]).length > 0)) {
        const answer = await server.call(route.method, request.path, {
          key: keyOf.get(scope) as string,
          body: request.body,
        })
        expect(answer, `${route.name} with ${scope}`).toMatchObject({
          status: 403,
          body: { code: 'insufficient_scope' },
        })
        const named = 'any' in route.scopes ? route.scopes.any.join(' or ') : missing(route, [scope])[0]
        expect(answer.body.detail).toBe(`This needs the scope ${named}; the key has ${scope}.`)
      }
    }
  })

  it('opens every door to *', async () => {
    for (const route of server.started.composed.routes) {
      const answer = await ask(route, { key: keyOf.get('*') as string, scopes: ['*'] })
      expect(answer.status, route.name).toBe(route.answer.status)
    }
  })

  it('lets any key ask who it is', async () => {
    for (const scope of SCOPES) {
      const answer = await server.call('GET', '/v1/keys/self', { key: keyOf.get(scope) as string })
      expect(answer).toMatchObject({ status: 200, body: { scopes: [scope] } })
    }
  })

  it('shows a decision to the key that asked for it and, with decisions:read, to others', async () => {
    const { key } = await makeKey(server, ['decisions:write'])
    const own = await decide(server, { agent_id: AGENT, action: 'mail.send' }, key)
    expect(await server.call('GET', `/v1/decisions/${own.id}`, { key })).toMatchObject({
      status: 200,
      body: { id: own.id },
    })
    const other = await decide(server, { agent_id: AGENT, action: 'mail.send' })
    expect(await server.call('GET', `/v1/decisions/${other.id}`, { key })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', detail: expect.stringContaining('decisions:read') },
    })
    expect(
      (await server.call('GET', `/v1/decisions/${own.id}`, { key: keyOf.get('decisions:read') as string })).status,
    ).toBe(200)
  })
})

describe('keys that are bound to agents', () => {
  it('meet nothing of other agents at any route', async () => {
    for (const route of server.started.composed.routes) {
      const { request, bound } = caseOf(route)
      const scopes = needed(route)[0] as Scope[]
      if (bound === 'cannot hold the scope') {
        const body = { name: 'bound', scopes, agents: ['agent:two'] }
        const refused = await server.call('POST', '/v1/keys', { body })
        expect(refused, route.name).toMatchObject({ status: 400, body: { errors: [{ pointer: '/scopes/0' }] } })
        continue
      }
      const { path, body } = await request()
      const { key } = await makeKey(server, scopes.length > 0 ? scopes : ['decisions:read'], { agents: ['agent:two'] })
      const before = await stored(server)
      const answer = await server.call(route.method, path, { key, body })
      if (bound === 'nothing of agents' || bound === 'not sent')
        expect(answer.status, route.name).toBe(route.answer.status)
      else if (bound === 'left out') {
        expect(answer, route.name).toMatchObject({ status: 200, body: { data: [] } })
        expect(answer.body.next_cursor ?? null, route.name).toBeNull()
      } else expect(answer.body, route.name).toMatchObject({ code: bound })
      expect(await stored(server), route.name).toEqual(before)
    }
  })

  it('pass every door for their own agents', async () => {
    const held = SINGLE_SCOPES.filter((scope) => !UNBINDABLE_SCOPES.includes(scope))
    const { key } = await makeKey(server, held, { agents: ['agent:one', 'agent:n*'] })
    for (const route of server.started.composed.routes) {
      if (caseOf(route).bound === 'cannot hold the scope') continue
      const answer = await ask(route, { key, scopes: held })
      expect(answer.status, route.name).toBe(route.answer.status)
      if (caseOf(route).bound === 'left out') expect(answer.body.data.length).toBeGreaterThan(0)
    }
  })

  it('hold none of the scopes that act beyond one agent', async () => {
    for (const scope of SCOPES) {
      const body = { name: 'bound', scopes: ['decisions:read', scope], agents: ['agent:two'] }
      const answer = await server.call('POST', '/v1/keys', { body })
      const isRefused = UNBINDABLE_SCOPES.includes(scope)
      expect(answer.status, scope).toBe(isRefused ? 400 : 201)
      if (isRefused) expect(answer.body.errors).toMatchObject([{ pointer: '/scopes/1' }])
    }
    const wide = [
      'policies:write',
      'keys:write',
      'webhooks:read',
      'webhooks:write',
      'audit:read',
      'audit:write',
      'agents:write',
      '*',
    ]
    expect([...UNBINDABLE_SCOPES].sort()).toEqual(wide.sort())
  })
})

import { expect, test } from 'vitest'
import type { Route } from './route.js'
import { Router } from './router.js'

const of = (method: Route['method'], path: string): Route => ({
  method,
  path,
  name: `${method} ${path}`,
  summary: '',
  scopes: { all: [] },
  answer: { status: 200, description: '' },
  problems: [],
  handle: async () => ({}),
})

const router = new Router([
  of('GET', '/v1/keys'),
  of('POST', '/v1/keys'),
  of('GET', '/v1/keys/self'),
  of('GET', '/v1/keys/{id}'),
  of('DELETE', '/v1/keys/{id}'),
  of('POST', '/v1/keys/{id}/rotate'),
  of('GET', '/v1/agents/{agent_id}/keys/{id}'),
])

const at = (method: string, path: string) => {
  const found = router.find(method, path)
  return found.route === null ? found.error.code : [found.route.name, found.params]
}

test.each([
  ['GET', '/v1/keys', ['GET /v1/keys', {}]],
  ['HEAD', '/v1/keys', ['GET /v1/keys', {}]],
  ['POST', '/v1/keys', ['POST /v1/keys', {}]],
  ['GET', '/v1/keys/self', ['GET /v1/keys/self', {}]],
  ['GET', '/v1/keys/key_1', ['GET /v1/keys/{id}', { id: 'key_1' }]],
  ['GET', '/v1/keys/selfish', ['GET /v1/keys/{id}', { id: 'selfish' }]],
  ['POST', '/v1/keys/self/rotate', ['POST /v1/keys/{id}/rotate', { id: 'self' }]],
  ['GET', '/v1/keys/a%2Fb%20c', ['GET /v1/keys/{id}', { id: 'a/b c' }]],
  ['GET', '/v1/keys/__proto__', ['GET /v1/keys/{id}', { id: '__proto__' }]],
  ['GET', '/v1/agents/agent:a/keys/k', ['GET /v1/agents/{agent_id}/keys/{id}', { agent_id: 'agent:a', id: 'k' }]],
  ['DELETE', '/v1/keys/self', 'method_not_allowed'],
  ['PATCH', '/v1/keys', 'method_not_allowed'],
  ['get', '/v1/keys', 'method_not_allowed'],
  ['GET', '/v1/keys/', 'not_found'],
  ['GET', '/v1//keys', 'not_found'],
  ['GET', '/v1/Keys', 'not_found'],
  ['GET', '/v1/%6Beys', 'not_found'],
  ['GET', '/v1', 'not_found'],
  ['GET', '/v1/keys/%zz', 'not_found'],
  ['POST', '/v1/keys//rotate', 'not_found'],
  ['GET', '/v1/keys/a/b', 'not_found'],
])('%s %s', (method, path, expected) => {
  expect(at(method, path)).toEqual(expected)
})

test('a method that is not there is told which ones are, and counts for the path', () => {
  const found = router.find('PUT', '/v1/keys/key_1')
  expect(found).toMatchObject({ template: '/v1/keys/{id}', error: { headers: { Allow: 'GET, HEAD, DELETE' } } })
})

import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiDocument, answerCheckOf } from '../documented-answers.js'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy } from './refunds.js'

let server: RunningServer
let text: string
let document: ApiDocument
beforeAll(async () => {
  server = await runServer()
  text = await (await fetch(`${server.url}/openapi.json`)).text()
  document = JSON.parse(text)
})
afterAll(() => server.stop())

/** All titles of schemas inside a value. A property may be named so, too: its schema is no text. */
function titlesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) =>
    key === 'title' && typeof part === 'string' ? [part] : titlesIn(part),
  )
}

/** The names that differ from one before them in case and punctuation alone. */
function repeatedAsIdentifiers(names: readonly string[]): string[] {
  const identifiers = names.map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
  return identifiers.filter((name, index) => identifiers.indexOf(name) !== index)
}

describe('/openapi.json', () => {
  it('is an OpenAPI 3.1 document, read without a key', async () => {
    const validator = new Validator()
    // The validator takes a property that is named $ref, as in a condition, for a reference.
    const isProperty = (value: unknown) => typeof (value as { $ref?: unknown } | null)?.$ref === 'object'
    const readable = JSON.parse(text, (_, value) => (isProperty(value) ? { ...value, $ref: undefined } : value))
    const result = await validator.validate(JSON.parse(JSON.stringify(readable)))
    expect(result).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  it('is refused by the same validator when it is none', async () => {
    const broken = { ...JSON.parse(text), paths: { 'no-slash': { get: { responses: { 200: {} } } } } }
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false })
  })

  it('describes every route of the table and nothing else under /v1', () => {
    const described = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/v1'))
      .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`))
    const routes = server.started.composed.routes.map(({ method, path }) => `${method} ${path}`)
    expect(described.sort()).toEqual(routes.sort())
  })

  it('gives each schema and each operation a name of its own, as generators of clients make it', () => {
    const { components, paths } = JSON.parse(text)
    const titles = titlesIn([components.schemas, paths])
    expect(repeatedAsIdentifiers([...Object.keys(components.schemas), ...titles])).toEqual([])
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids.filter((id) => !/^[A-Za-z]\w*$/.test(id))).toEqual([])
    expect(repeatedAsIdentifiers(ids)).toEqual([])
  })

  it('would notice a name that another schema has as its title', () => {
    const schemas = { AgentUpdate: { title: 'Agent', properties: { title: { type: 'string' } } }, Agent: {} }
    expect(titlesIn(schemas)).toEqual(['Agent'])
    expect(repeatedAsIdentifiers(['AgentUpdate', 'Agent', 'agent'])).toEqual(['agent'])
  })

  it('lets clients that read no patterns keep the conditions of a policy', () => {
    expect(JSON.parse(text).components.schemas.Conditions.additionalProperties).toMatchObject({})
  })

  it('tells of the problems that any call can meet', () => {
    for (const { method, path, scopes, body, replay, answer } of server.started.composed.routes) {
      const { responses } = document.paths[path]?.[method.toLowerCase()] ?? { responses: {} }
      const statuses = [answer.status, 400, 401, 404, 429, 500]
      if (!('all' in scopes && scopes.all.length === 0)) statuses.push(403)
      if (body !== undefined) statuses.push(413, 415)
      if (replay !== undefined) statuses.push(422)
      expect(Object.keys(responses).map(Number), `${method} ${path}`).toEqual(expect.arrayContaining(statuses))
    }
  })
})

describe('the check of every answer', () => {
  const seen = { method: 'GET', path: '/v1/policies?limit=1', status: 200, text: '{"data":[],"next_cursor":null}' }
  const plain = {
    'content-type': 'application/json',
    'x-request-id': 'req_12345678',
    'x-content-type-options': 'nosniff',
  }
  const problem = {
    type: '/docs/errors#not_found',
    title: 'Nothing was found here.',
    status: 404,
    detail: '…',
    code: 'not_found',
    request_id: 'req_12345678',
  }
  const faults = (answer: object, headers: Record<string, string> = {}) =>
    answerCheckOf(text).faults({ ...seen, ...answer, headers: new Headers({ ...plain, ...headers }) })
  const asProblem = { 'content-type': 'application/problem+json' }

  it('finds nothing in an answer as documented', async () => {
    expect(faults({})).toEqual([])
    expect(faults({ status: 404, text: JSON.stringify(problem) }, asProblem)).toEqual([])
    expect(faults({ path: '/v1/nowhere', status: 404, text: JSON.stringify(problem) }, asProblem)).toEqual([])
    expect(faults({ path: '/livez', text: 'ok' })).toEqual([])
  })

  it.each<[what: string, answer: object, headers: Record<string, string>, fault: string]>([
    ['an unknown status', { status: 202 }, {}, 'status 202 is not documented'],
    ['an unknown header', {}, { 'X-Powered-By': 'Express' }, 'the header x-powered-by is not documented'],
    ['an unknown media type', {}, { 'content-type': 'text/html' }, 'text/html is not documented'],
    [
      'an unknown member',
      { text: '{"data":[],"next_cursor":null,"total":0}' },
      {},
      'body must NOT have additional properties',
    ],
    ['a missing member', { text: '{"data":[]}' }, {}, "body must have required property 'next_cursor'"],
    ['a body where none is', { method: 'DELETE', path: '/v1/policies/x', status: 204 }, {}, 'a body is not documented'],
    [
      'a code of another status',
      { status: 400, text: JSON.stringify({ ...problem, status: 400 }) },
      asProblem,
      'not_found is not documented for this status',
    ],
    [
      'a status that the body denies',
      { status: 404, text: JSON.stringify({ ...problem, status: 400 }) },
      asProblem,
      'the problem says status 400',
    ],
    [
      'a 405 without Allow',
      {
        path: '/v1/policies',
        method: 'PATCH',
        status: 405,
        text: JSON.stringify({ ...problem, code: 'method_not_allowed', status: 405 }),
      },
      asProblem,
      'the documented header allow is missing',
    ],
    ['a success without a route', { path: '/v1/nowhere' }, {}, 'status 200 is not documented'],
  ])('finds %s', (_, answer, headers, fault) => {
    expect(faults(answer, headers)).toEqual([fault])
  })

  it('finds a missing header', () => {
    const headers = new Headers({ 'content-type': 'application/json' })
    expect(answerCheckOf(text).faults({ ...seen, headers })).toEqual(['the documented header x-request-id is missing'])
  })

  it('stops the test that meets a fault', async () => {
    const { id } = await createPolicy(server, allowing('mail.send'))
    const route = server.started.composed.routes.find(({ name }) => name === 'policies.get') as { handle: unknown }
    const { handle } = route
    try {
      route.handle = async () => ({ status: 200, headers: { ETag: '"1"', 'X-Odd': '1' }, body: { id } })
      await expect(server.call('GET', `/v1/policies/${id}`)).rejects.toThrow(
        /x-odd is not documented.*required property/,
      )
    } finally {
      route.handle = handle
    }
  })
})

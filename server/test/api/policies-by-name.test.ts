/** What a caller sees of /v1/policies/by-name/{name}, by status. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, everyItem, succeed } from './refunds.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())

const pathOf = (name: string) => `/v1/policies/by-name/${encodeURIComponent(name)}`
const put = (body: { name: string }, headers: Record<string, string> = {}, name = body.name) =>
  server.call('PUT', pathOf(name), { body, headers })
const entriesOf = async (id: string) =>
  (await everyItem(server, '/v1/audit')).filter(({ subject }) => subject === id).map(({ type }) => type)

describe('PUT /v1/policies/by-name/{name}', () => {
  it('201 creates the policy, which counts from then on', async () => {
    const document = allowing('named.create')
    const { status, headers, body } = await put(document)
    expect({ status, etag: headers.get('etag') }).toEqual({ status: 201, etag: '"1"' })
    expect(body).toMatchObject({ ...document, revision: 1 })
    expect(await decide(server, { agent_id: 'agent:a', action: 'named.create' })).toMatchObject({ effect: 'allow' })
    expect(await entriesOf(body.id)).toEqual(['policy.created'])
  })

  it('200 replaces the policy that has the name', async () => {
    const made = await createPolicy(server, allowing('named.replace'))
    const { status, headers, body } = await put({ ...made, rules: [{ action: 'named.replace', effect: 'deny' }] })
    expect({ status, etag: headers.get('etag') }).toEqual({ status: 200, etag: '"2"' })
    expect(body).toMatchObject({ id: made.id, revision: 2, created_at: made.created_at })
    expect(await decide(server, { agent_id: 'agent:a', action: 'named.replace' })).toMatchObject({ effect: 'deny' })
    expect(await entriesOf(made.id)).toEqual(['policy.updated', 'policy.created'])
  })

  it('201 creates another policy after the one with the name was deleted', async () => {
    const made = await createPolicy(server, allowing('named.deleted'))
    await server.call('DELETE', `/v1/policies/${made.id}`)
    const { status, body } = await put(made)
    expect({ status, revision: body.revision, isSame: body.id === made.id }).toEqual({
      status: 201,
      revision: 1,
      isSame: false,
    })
  })

  it.each(['a/b', 'by-name', 'revisions', '100 %', 'ü?#&', 'budget'])('takes the name %s', async (name) => {
    const document = { ...allowing('named.odd'), name }
    expect((await put(document)).status).toBe(201)
    expect(await succeed(server.call('GET', pathOf(name)))).toMatchObject({ name, revision: 1 })
  })

  it('creates one policy when many put it at once, and each of the others is a revision', async () => {
    const document = allowing('named.race')
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(document)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 19 }, () => 200), 201])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(new Set(answers.map(({ body }) => body.revision)).size).toBe(20)
  })

  it('creates one policy for many that only create', async () => {
    const document = allowing('named.once')
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(document, { 'If-None-Match': '*' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 412)])
  })

  it('400 is told of a body with another name, and writes nothing', async () => {
    const document = allowing('named.other')
    const { status, body } = await put(document, {}, 'another')
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: [{ pointer: '/name', detail: 'must be the name in the path' }],
    })
    for (const name of ['another', document.name]) expect((await server.call('GET', pathOf(name))).status).toBe(404)
  })

  it('400 is told of an If-None-Match that names a revision', async () => {
    const { status, body } = await put(allowing('named.tag'), { 'If-None-Match': '"1"' })
    expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 400, pointer: '/If-None-Match' })
  })

  it.each([
    ['a stale If-Match', '"7"'],
    ['a weak one', 'W/"1"'],
  ])('412 is told of %s, and changes nothing', async (_, tag) => {
    const made = await createPolicy(server, allowing('named.stale'))
    expect(await put({ ...made, priority: 5 }, { 'If-Match': tag })).toMatchObject({
      status: 412,
      body: { code: 'revision_mismatch' },
    })
    expect(await succeed(server.call('GET', pathOf(made.name)))).toMatchObject({ revision: 1, priority: 0 })
    expect((await put(made, { 'If-Match': '"1"' })).status).toBe(200)
  })

  it.each(['"1"', '*'])('412 is told of If-Match: %s where there is no policy, and creates none', async (tag) => {
    const document = allowing('named.none')
    expect(await put(document, { 'If-Match': tag })).toMatchObject({ status: 412 })
    expect((await server.call('GET', pathOf(document.name))).status).toBe(404)
  })
})

describe('GET /v1/policies/by-name/{name}', () => {
  it('200 answers the policy as its id does', async () => {
    const made = await createPolicy(server, allowing('named.get'))
    const [byName, byId] = await Promise.all(
      [pathOf(made.name), `/v1/policies/${made.id}`].map((path) => server.call('GET', path)),
    )
    expect(byName?.body).toEqual(byId?.body)
    expect(byName?.headers.get('etag')).toBe('"1"')
  })

  it('404 is told of a name that nobody has, and of the name of a deleted policy', async () => {
    const made = await createPolicy(server, allowing('named.gone'))
    await server.call('DELETE', `/v1/policies/${made.id}`)
    for (const name of ['nobody has it', made.name]) {
      expect(await server.call('GET', pathOf(name))).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
  })
})

/** Who may review what: never the key that asked, nor its kin, unless it holds everything and is marked. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, REFUNDS, REVIEWED, succeed } from './refunds.js'
import { stored } from './stored.js'

const EVERYTHING = ['decisions:write', 'reviews:write', 'keys:write', 'decisions:read']

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

interface Key {
  readonly id: string
  readonly key: string
}

const make = (scopes: readonly string[], by = server.key): Promise<Key> =>
  succeed(server.call('POST', '/v1/keys', { key: by, body: { name: 'kin', scopes } }))
const ask = async (key: string): Promise<string> => (await decide(server, REVIEWED, key)).id
const review = (verb: 'approve' | 'decline', id: string, key: string) =>
  server.call('POST', `/v1/decisions/${id}/${verb}`, { key })

async function expectKin(asker: Key, reviewer: Key): Promise<void> {
  const id = await ask(asker.key)
  const before = await stored(server)
  for (const verb of ['approve', 'decline'] as const)
    expect(await review(verb, id, reviewer.key)).toMatchObject({ status: 403, body: { code: 'self_approval' } })
  expect(await stored(server)).toEqual(before)
}

async function expectStrangers(asker: Key, reviewer: Key): Promise<void> {
  for (const verb of ['approve', 'decline'] as const) {
    const id = await ask(asker.key)
    expect(await review(verb, id, reviewer.key)).toMatchObject({
      status: 200,
      body: { review: { decided_by: reviewer.id, self_approved: false } },
    })
  }
}

describe('self_approval', () => {
  it('is the key that asked, itself', async () => {
    const key = await make(EVERYTHING)
    await expectKin(key, key)
  })

  it('is a key that the asker made, the one that made it, and one that another child made', async () => {
    const root = await make(EVERYTHING)
    const [child, sibling] = [await make(EVERYTHING, root.key), await make(EVERYTHING, root.key)]
    const grandchild = await make(EVERYTHING, child.key)
    await expectKin(root, child)
    await expectKin(child, root)
    await expectKin(child, sibling)
    await expectKin(sibling, grandchild)
    await expectKin(grandchild, root)
  })

  it('is so after the keys between them were revoked, and after a restart', async () => {
    const root = await make(EVERYTHING)
    const child = await make(EVERYTHING, root.key)
    const [one, two] = [await make(EVERYTHING, child.key), await make(EVERYTHING, root.key)]
    for (const { id } of [child, root]) expect((await server.call('DELETE', `/v1/keys/${id}`)).status).toBe(204)
    await expectKin(one, two)
    server = await server.restart()
    await expectKin(one, two)
  })

  it('is a key that the asker rotated: a foreign one it cannot, one of its own stays kin', async () => {
    const [asker, reviewer] = [await make(EVERYTHING), await make(['reviews:write'])]
    const rotate = (id: string) => server.call('POST', `/v1/keys/${id}/rotate`, { key: asker.key })
    const before = await stored(server)
    expect(await rotate(reviewer.id)).toMatchObject({ status: 403, body: { code: 'not_own_key' } })
    expect(await stored(server)).toEqual(before)
    const below = await make(['reviews:write'], (await make(EVERYTHING, asker.key)).key)
    const { key } = await succeed(rotate(below.id))
    await expectKin(asker, { id: below.id, key })
  })

  it('is told in whatever status the decision is', async () => {
    const key = await make(EVERYTHING)
    const id = await ask(key.key)
    await succeed(server.call('POST', `/v1/decisions/${id}/reject`, { key: key.key }))
    expect((await review('approve', id, key.key)).body.code).toBe('self_approval')
    expect((await review('decline', id, server.key)).body.code).toBe('invalid_transition')
  })
})

describe('no kin', () => {
  it('are two keys that a * key made', async () => {
    const [asker, reviewer] = [await make(EVERYTHING), await make(EVERYTHING)]
    await expectStrangers(asker, reviewer)
    await expectStrangers(await make(EVERYTHING, asker.key), await make(EVERYTHING, reviewer.key))
  })

  it('are the children of a * key and that key: it may, and is not marked', async () => {
    const asker = await make(EVERYTHING)
    const id = await ask(asker.key)
    expect((await review('approve', id, server.key)).body.review.self_approved).toBe(false)
  })

  it('is a key below another * key that the first one made', async () => {
    const admin = await make(['*'])
    await expectStrangers(await make(EVERYTHING), await make(EVERYTHING, admin.key))
    await expectStrangers(await make(EVERYTHING, admin.key), await make(EVERYTHING))
  })
})

describe('a * key', () => {
  it('may review what it asked, marked, in the answer and in the audit log', async () => {
    for (const verb of ['approve', 'decline'] as const) {
      const id = await ask(server.key)
      const { body } = await review(verb, id, server.key)
      expect(body.review).toMatchObject({ self_approved: true, decided_by: expect.stringMatching(/^key_/) })
      const { data } = await succeed(server.call('GET', `/v1/audit?decision_id=${id}`))
      expect(data[0]).toMatchObject({ actor: body.review.decided_by, data: { self_approved: true } })
    }
  })

  it('is a root of its own: not kin of the * key that made it', async () => {
    const admin = await make(['*'])
    const id = await ask(server.key)
    expect((await review('approve', id, admin.key)).body.review.self_approved).toBe(false)
  })
})

/** `countersign migrate`: everything that a server on the embedded store knew, one on MongoDB with the same DATA_DIR knows. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '#server/adapters/system-clock'
import { typeidIds } from '#server/adapters/typeid-ids'
import { MutationWriter } from '#server/mutation-writer'
import type { StoredKey } from '#server/ports/store/documents'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { type Answer, call, listAll } from '../process/call.js'
import type { Child } from '../process/child.js'
import { CHOSEN_KEY, countersign, newDirectory, ShippedServer } from '../process/shipped-server.js'
import { Receiver } from '../process/webhook-receivers.js'
import { keyOf, writeKeyOf } from '../store-suite/index.js'
import { openRelay } from '../stores/mongodb/relay.js'
import { ISSUER, newDatabase, removeReplicas } from './replicas/replicas.js'

const receiver = new Receiver()
afterEach(async () => {
  receiver.close()
  await removeReplicas()
})

const ENV = { ISSUER, WEBHOOK_ALLOW_PRIVATE: '1', DECISION_TTL_SECONDS: '3600' }
const SECRET_OF_URL = 'p4ssw0rd-of-the-url'

interface Scene {
  readonly dataDir: string
  readonly url: string
}

const newScene = (): Scene => ({ dataDir: newDirectory(), url: newDatabase() })

const startOn = ({ dataDir }: Scene, env: Readonly<Record<string, string>> = {}) =>
  ShippedServer.start({ dataDir, env: { ...ENV, ...env } })

async function run({ dataDir, url }: Scene, args: readonly string[], mongodbUrl = url) {
  const env = { DATA_DIR: dataDir, MONGODB_URL: mongodbUrl, ISSUER }
  const child = countersign(args, { env })
  const { code } = await child.end(120_000)
  return { code, stdout: child.stdout, stderr: child.stderr }
}

async function refusedStart({ dataDir }: Scene, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = countersign(['serve'], { env: { PORT: '0', DATA_DIR: dataDir, ...ENV, ...env } })
  expect((await child.end()).code).toBe(1)
  return JSON.parse(child.stderr).msg
}

/** A call that has to succeed. */
async function done(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

const post = (server: ShippedServer, path: string, body: object, name?: string) =>
  done(server.call('POST', path, { body, ...(name !== undefined && { headers: { 'Idempotency-Key': name } }) }))

const pay = (amount: number) => ({ agent_id: 'agent:a', action: 'pay.create', context: { amount } })

/** The lists that a caller can read. What the clock or a start changes is left out. */
async function everything({ url }: ShippedServer): Promise<object> {
  const all = (path: string) => listAll(url, path, CHOSEN_KEY)
  const [decisions, policies, agents, keys, webhooks, entries] = [
    await all('/v1/decisions'),
    await all('/v1/policies'),
    await all('/v1/agents'),
    await all('/v1/keys'),
    await all('/v1/webhooks'),
    await all('/v1/audit'),
  ]
  return {
    ...{ decisions, policies, agents, entries },
    keys: keys.map(({ last_used_at: _, ...key }) => key),
    webhooks: webhooks.map(({ health: _, ...webhook }) => webhook),
    revisions: await Promise.all(policies.map(({ id }) => all(`/v1/policies/${id}/revisions`))),
    deliveries: await Promise.all(webhooks.map(({ id }) => all(`/v1/webhooks/${id}/deliveries`))),
    budgets: (await all('/v1/budgets')).map(({ as_of: _, ...budget }) => budget),
    statistics: (await done(call(url, 'GET', '/v1/stats?interval=day', { key: CHOSEN_KEY }))).data,
  }
}

/** Decisions in every status, and everything else that a store keeps. */
async function fill(server: ShippedServer) {
  const rules = [
    { action: 'pay.create', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
    { action: 'pay.create', effect: 'review' },
    { action: 'data.drop', effect: 'deny' },
  ]
  const policy = { name: 'pay', rules, budget: { limit: 10_000, unit: 'EUR', period: 'monthly' } }
  const { id: policyId } = await post(server, '/v1/policies', policy)
  await done(server.call('PUT', `/v1/policies/${policyId}`, { body: { ...policy, description: 'second revision' } }))
  const gone = await post(server, '/v1/policies', { name: 'gone', rules: [{ action: 'x', effect: 'allow' }] })
  await done(server.call('DELETE', `/v1/policies/${gone.id}`))
  await post(server, '/v1/agents', { id: 'agent:b', name: 'B', metadata: { team: 'blue' } })
  await done(server.call('PUT', '/v1/agents/agent:b', { body: { name: 'B', metadata: { team: 'red' } } }))
  await post(server, '/v1/agents/agent:c/suspend', { reason: 'stolen' })
  const revoked = await post(server, '/v1/keys', { name: 'revoked', scopes: ['decisions:write'] })
  await done(server.call('DELETE', `/v1/keys/${revoked.id}`))
  const live = await post(server, '/v1/keys', { name: 'live', scopes: ['*'] })
  const webhook = await post(server, '/v1/webhooks', { url: await receiver.open() })
  receiver.verifier = new Webhook(webhook.secret)

  const calls = new Map<string, Answer['body']>()
  const ask = async (name: string, request: object) => {
    const decision = await post(server, '/v1/decisions', request, name)
    calls.set(name, decision)
    return decision
  }
  const open = await ask('open', pay(10))
  const confirmed = await ask('confirmed', pay(20))
  await post(server, `/v1/decisions/${confirmed.id}/confirm`, { amount: 15 })
  const rejected = await ask('rejected', pay(30))
  await post(server, `/v1/decisions/${rejected.id}/reject`, {})
  const awaiting = await ask('awaiting', pay(400))
  const approved = await ask('approved', pay(500))
  await post(server, `/v1/decisions/${approved.id}/approve`, {}, 'approval')
  const declined = await ask('declined', pay(600))
  await post(server, `/v1/decisions/${declined.id}/decline`, { comment: 'no' })
  await ask('denied', { agent_id: 'agent:a', action: 'data.drop' })
  const erased = await ask('erased', { ...pay(1), agent_id: 'agent:e' })
  await post(server, `/v1/decisions/${erased.id}/confirm`, {})
  await done(server.call('DELETE', `/v1/audit/requests/${erased.id}`))
  return { calls, open, confirmed, awaiting, approved, erased, revoked, live, webhook }
}

/** Everything has been delivered, counted and signed. */
async function settled(server: ShippedServer): Promise<void> {
  const [{ id }] = await listAll(server.url, '/v1/webhooks', CHOSEN_KEY)
  await until('every delivery and checkpoint', async () => {
    const deliveries = await listAll(server.url, `/v1/webhooks/${id}/deliveries`, CHOSEN_KEY)
    const isDelivered = deliveries.length >= 15 && deliveries.every(({ status }) => status === 'delivered')
    const { data } = (await server.call('GET', '/v1/audit/checkpoints')).body
    const newest = (await server.call('GET', '/v1/audit?limit=1')).body.data[0]
    const isSigned = data.some(({ size }: { size: number }) => size === newest.index + 1)
    return (isDelivered && isSigned) || undefined
  })
}

it('moves everything: a server with the same DATA_DIR goes on with log, budgets, reviews, calls and webhooks', async () => {
  const scene = newScene()
  const before = await startOn(scene)
  const made = await fill(before)
  await settled(before)
  const [jwks, proof, permit] = ['jwks', 'proof', 'permit'].map((name) =>
    join(scene.dataDir, '..', `${name}-${made.open.id}`),
  ) as [string, string, string]
  writeFileSync(jwks, JSON.stringify(await done(call(before.url, 'GET', '/.well-known/jwks.json'))))
  writeFileSync(permit, made.open.permit_token)
  writeFileSync(proof, JSON.stringify(await done(before.call('GET', `/v1/audit/proof?decision_id=${made.open.id}`))))
  const known = await everything(before)
  expect(await run(scene, ['migrate'])).toMatchObject({ code: 1, stderr: expect.stringContaining('Stop it first') })
  await before.stop()

  const withPassword = scene.url.replace('mongodb://', `mongodb://someone:${SECRET_OF_URL}@`)
  const dry = await run(scene, ['migrate', '--dry-run'])
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/ 8 decisions, .*Nothing was moved/) })
  const refused = await run(scene, ['migrate', '--to', withPassword])
  expect(refused.code === 0 ? '' : refused.stdout + refused.stderr).not.toContain(SECRET_OF_URL)
  const moved = await run(scene, ['migrate'])
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('Start the server with MONGODB_URL') })
  expect(moved.stderr).toMatch(/compared \d+ of \d+ audit entries/)
  expect(await refusedStart(scene)).toMatch(/were moved to MongoDB at .*Set MONGODB_URL/)

  const after = await startOn(scene, { MONGODB_URL: scene.url })
  expect(await everything(after)).toEqual(known)
  for (const [name, first] of made.calls) {
    const { agent_id, action, resource } = first
    if (name === 'erased') continue
    const request = { agent_id, action, ...(resource !== null && { resource }), ...contextOf(name) }
    const again = await after.call('POST', '/v1/decisions', { body: request, headers: { 'Idempotency-Key': name } })
    expect([again.status, again.body.id, again.headers.get('Idempotent-Replayed')], name).toEqual([
      200,
      first.id,
      'true',
    ])
  }
  const verified = await run(scene, ['audit', 'verify', '--permit', permit, '--proof', proof, '--jwks', jwks])
  expect(verified).toMatchObject({ code: 0 })
  expect((await call(after.url, 'GET', '/v1/policies', { key: made.revoked.key })).status).toBe(401)

  // The budget goes on: 16 spent; 10 and 500 are reserved.
  const balance = async () => (await done(after.call('GET', '/v1/budgets'))).data[0]
  expect(await balance()).toMatchObject({ spent: 16, reserved: 510 })
  await post(after, `/v1/decisions/${made.open.id}/confirm`, { amount: 7.5 })
  expect(await balance()).toMatchObject({ spent: 23.5, reserved: 500 })
  await post(after, `/v1/decisions/${made.awaiting.id}/approve`, {})
  expect(await balance()).toMatchObject({ spent: 23.5, reserved: 900 })
  await post(after, `/v1/decisions/${made.approved.id}/claim`, {})
  await post(after, `/v1/decisions/${made.approved.id}/confirm`, {})
  expect(await balance()).toMatchObject({ spent: 523.5, reserved: 400 })
  const correction = { key: made.live.key, body: { result: 'confirmed', amount: 5 } }
  await done(call(after.url, 'POST', `/v1/decisions/${made.confirmed.id}/correct`, correction))
  expect(await balance()).toMatchObject({ spent: 513.5, reserved: 400 })

  // Its log, its signatures and its webhooks go on.
  const { index, log } = (await done(after.call('GET', '/v1/audit?limit=1'))).data[0]
  const newest = (known as { entries: { index: number; log: string }[] }).entries[0]
  expect([log, index]).toEqual([newest?.log, (newest?.index ?? 0) + 5])
  await settled(after)
  expect(receiver.faults).toEqual([])
  const records = await run(scene, ['audit', 'verify', '--records', '--offline', '--jwks', jwks])
  expect(records.stdout).toMatch(/^Intact/)
  // A verifier may have read the key set before the move: it lacks the key of a server that joins.
  const joined = await startOn({ ...scene, dataDir: newDirectory() }, { MONGODB_URL: scene.url })
  expect((await after.call('GET', '/readyz')).body.status).toBe('ready')
  expect((await joined.call('GET', '/readyz')).body).toMatchObject({
    status: 'not ready',
    detail: expect.stringContaining('may not know the signing key of this server yet'),
  })
  await joined.stop()
  await after.stop()
  expect(await run(scene, ['migrate', '--undo'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The move is complete'),
  })
})

const contextOf = (name: string) => {
  const amounts: Record<string, number> = {
    open: 10,
    confirmed: 20,
    rejected: 30,
    awaiting: 400,
    approved: 500,
    declined: 600,
  }
  return amounts[name] === undefined ? {} : { context: { amount: amounts[name] } }
}

it('moves more expired keys than a document of MongoDB can hold, and no key is lost', async () => {
  const scene = newScene()
  const live = keyOf(EXPIRED_KEYS, { expires_at: '2999-01-01T00:00:00.000Z' })
  const expired = { agents: MANY_AGENTS, expires_at: '2026-01-01T00:00:00.000Z' }
  await writeKeys(scene, [...[...Array(EXPIRED_KEYS).keys()].map((number) => keyOf(number, expired)), live])
  expect(await run(scene, ['migrate'])).toMatchObject({ code: 0 })
  const store = await openMongoStore({ url: scene.url })
  const found = await store.keys.load()
  await store.close()
  expect(found).toHaveLength(EXPIRED_KEYS + 1)
  expect(found).toContainEqual(live)
})

/** Each is 60 kB large. A document of MongoDB holds 16 MiB. */
const EXPIRED_KEYS = 300
const MANY_AGENTS = Array.from({ length: 250 }, (_, i) => `agent:${'x'.repeat(230)}-${i}`)

async function writeKeys({ dataDir }: Scene, keys: readonly StoredKey[]): Promise<void> {
  const store = await openSqliteStore({ dataDir })
  const writer = new MutationWriter(store, typeidIds(systemClock()), 60_000)
  const entryOf = ({ id, created_at: at }: StoredKey) =>
    ({ at, type: 'key.created', actor: null, subject: id, agent_id: null, data: {} }) as const
  await Promise.all(
    keys.map((key) => writer.write({ entry: entryOf(key), change: writeKeyOf(key), idempotency: null })),
  )
  await store.close()
}

it('finds a record that differs at the end, and serves nothing of it', async () => {
  const scene = newScene()
  const server = await startOn(scene)
  await post(server, '/v1/policies', { name: 'p', rules: [{ action: 'pay.create', effect: 'allow' }] })
  const { id } = await post(server, '/v1/decisions', pay(1))
  await server.stop()
  await interrupted(scene)
  const client = new MongoClient(scene.url)
  const decisions = client.db().collection<{ _id: string }>('decisions')
  expect((await decisions.updateOne({ _id: id }, { $set: { context: '{"amount":2}' } })).modifiedCount).toBe(1)
  await client.close()
  const { code, stderr } = await run(scene, ['migrate'])
  expect([code, stderr]).toEqual([1, expect.stringContaining(`different is one of its decisions: \\"${id}\\"`)])
  expect(await refusedStart(scene, { MONGODB_URL: scene.url })).toContain('a move that is not complete')
  expect(await run(scene, ['migrate', '--undo'])).toMatchObject({ code: 0 })
  await (await startOn(scene)).stop()
})

it('refuses a database with other data, and goes back until the move is complete', async () => {
  const scene = newScene()
  const server = await startOn(scene)
  await post(server, '/v1/policies', { name: 'p', rules: [{ action: 'pay.create', effect: 'allow' }] })
  await post(server, '/v1/decisions', pay(1))
  await server.stop()

  const client = new MongoClient(scene.url)
  await client.db().collection('notes').insertOne({ text: 'of somebody else' })
  expect((await run(scene, ['migrate'])).stderr).toContain('already holds data')
  expect((await run(scene, ['migrate', '--undo'])).stderr).toContain('were not moved')
  await client.db().collection('notes').drop()
  await client.close()
  expect((await run({ ...scene, dataDir: newDirectory() }, ['migrate'])).stderr).toContain('There is no server data')
  expect((await run(scene, ['migrate', '--undo', '--dry-run'])).code).toBe(64)

  await interrupted(scene)
  const other = { ...scene, url: newDatabase() }
  expect((await run(other, ['migrate'])).stderr).toContain('are being moved to MongoDB at')
  expect((await run(other, ['migrate', '--undo'])).stderr).toContain('is not the database of this move')
  const undone = await run(scene, ['migrate', '--undo'])
  expect(undone).toMatchObject({ code: 0, stdout: expect.stringContaining('Drop the database') })
  expect(await refusedStart(scene, { MONGODB_URL: scene.url })).toContain('a move that was undone')
  expect((await run(scene, ['migrate'])).stderr).toContain('a move that was undone')
  const again = await startOn(scene)
  expect((await done(again.call('GET', '/v1/decisions'))).data).toHaveLength(1)
  await again.stop()

  await interrupted(other, async (url) => {
    const dropped = new MongoClient(url)
    await dropped.db().dropDatabase()
    await dropped.close()
    const gone = await run(other, ['migrate', '--undo'], url)
    expect(gone).toMatchObject({ code: 0, stdout: expect.not.stringContaining('Drop the database') })
  })

  expect((await run(other, ['migrate'])).code).toBe(0)
  expect((await run(other, ['migrate'])).code).toBe(0)
  expect((await run(other, ['migrate', '--undo'])).stderr).toContain('The move is complete')
  await refusedStart(other)
})

/** A move that is killed when it compares. @param then gets the URL that the move was given */
async function interrupted({ dataDir, url }: Scene, then = async (_url: string) => {}): Promise<void> {
  const killed = { child: null as Child | null }
  const relay = await openRelay(url, ({ name, collection }) => {
    if (name === 'find' && collection === 'policies') killed.child?.process.kill('SIGKILL')
    return 'passes'
  })
  killed.child = countersign(['migrate'], { env: { DATA_DIR: dataDir, MONGODB_URL: relay.url } })
  expect(await killed.child.end()).toMatchObject({ signal: 'SIGKILL' })
  await then(relay.url)
  await relay.close()
}

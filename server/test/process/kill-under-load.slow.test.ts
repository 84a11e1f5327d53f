/** kill -9 under load: what was acknowledged is there after the restart, and what was not is there once or not at all. */
import { leafHash } from '@countersign/audit-log'
import { any, createPermitVerifier } from '@countersign/permit'
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { endChildren } from './child.js'
import { Journal } from './journal.js'
import { LoadClient } from './load-client.js'
import { CHOSEN_KEY, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const CLIENTS = 24
/** Kills of one data directory; then the next one begins empty, so that looking through all of it stays quick. */
const KILLS_OF_A_LIFE = 5
const ISSUER = 'https://decisions.example'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

describe('kill -9 under load', () => {
  it(`keeps what was acknowledged, ${stress.server_kills} times over`, async () => {
    console.log(`SEED=${SEED}`)
    const random = seededRandom(SEED)
    for (let killed = 0; killed < stress.server_kills; killed += KILLS_OF_A_LIFE) {
      await liveAndDie(Math.min(KILLS_OF_A_LIFE, stress.server_kills - killed), random)
    }
  })
})

async function liveAndDie(kills: number, random: () => number): Promise<void> {
  const dataDir = newDirectory()
  const journal = new Journal()
  const env = { ISSUER, MAX_OPEN_REVIEWS: '1000000', MAX_OPEN_REVIEWS_PER_KEY: '1000000' }
  let server = await ShippedServer.start({ dataDir, env })
  await writeBasePolicy(server, journal)
  for (let kill = 0; kill < kills; kill += 1) {
    const answers = journal.answers + 50 + Math.floor(random() * 300)
    const delayMs = random() * 4
    const clients = Array.from({ length: CLIENTS }, (_, i) => new LoadClient(`k${kill}c${i}`, journal, random))
    const runs = Promise.all(clients.map((client) => client.run(server.url, CHOSEN_KEY)))
    await Promise.race([runs, until(`${answers} answers`, () => (journal.answers >= answers ? true : undefined))])
    setTimeout(() => server.process.kill('SIGKILL'), delayMs)
    expect(await server.end()).toEqual({ code: null, signal: 'SIGKILL' })
    await runs

    const restarted = performance.now()
    server = await ShippedServer.start({ dataDir, env })
    const readyMs = Math.round(performance.now() - restarted)
    const unanswered = await askAgain(server, journal)
    const decisions = await expectDecisions(server, journal)
    const entries = await expectAudit(server, decisions)
    await expectObjects(server, journal)
    console.log(
      `killed ${delayMs.toFixed(2)} ms after ${answers} answers with ${unanswered} requests on their way; ` +
        `ready again in ${readyMs} ms; ${decisions.length} decisions, ${entries} audit entries, ${journal.objects.size} objects`,
    )
  }
  await server.stop()
}

async function writeBasePolicy(server: ShippedServer, journal: Journal): Promise<void> {
  const amount = (limit: number) => ({ conditions: { 'context.amount': { $lte: limit } } })
  const rules = [
    { action: 'payment.refund', effect: 'allow', ...amount(1000) },
    { action: 'payment.refund', effect: 'review', ...amount(1200) },
    { action: 'payment.refund', effect: 'deny' },
  ]
  const { body } = await server.call('POST', '/v1/policies', { body: { name: 'base', description: 'base', rules } })
  journal.settle(body.id, 'base', true)
}

/** Asks twice, at the same time, for what got no answer: both get the same object, whether it was there already or not. */
async function askAgain(server: ShippedServer, journal: Journal): Promise<number> {
  const { unanswered } = journal
  journal.unanswered = []
  for (const { method, path, body, name } of unanswered.filter((asked) => asked.method === 'POST')) {
    const again = () => call(server.url, method, path, { key: CHOSEN_KEY, body, headers: { 'Idempotency-Key': name } })
    const answers = await Promise.all([again(), again()])
    const status = path === '/v1/keys' || path === '/v1/policies' ? 201 : 200
    expect(answers.map((answer) => answer.status)).toEqual([status, status])
    const [made, other] = answers.map((answer) => answer.body)
    expect(other.id).toBe(made.id)
    expect(answers.some(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toBe(true)
    if (path === '/v1/decisions') journal.decisions.set(name, made)
    else if (path === '/v1/policies') journal.settle(made.id, made.description, true)
    else if (path === '/v1/keys') journal.settle(made.id, 'live', true)
    else journal.settle(made.id, made.suspended === null ? 'resumed' : 'suspended', true)
  }
  return unanswered.length
}

/** Every decision that was answered is there as it was answered, and each request has one. Its permit is still good. */
async function expectDecisions(server: ShippedServer, journal: Journal): Promise<string[]> {
  const listed = await listAll(server.url, '/v1/decisions', CHOSEN_KEY)
  const byMarker = new Map(listed.map((decision) => [decision.context.marker, decision]))
  expect(byMarker.size).toBe(listed.length)
  const jwks = (await server.call('GET', '/.well-known/jwks.json')).body
  const verifier = createPermitVerifier({ jwks, issuer: ISSUER, audience: ISSUER, seen: false })
  for (const [name, { permit_token, ...answered }] of journal.decisions) {
    expect(byMarker.get(name)).toMatchObject(answered)
    if (permit_token !== undefined)
      expect(await verifier.verify(permit_token, { action: any, resource: any })).toMatchObject({ jti: answered.id })
  }
  expect(listed.length).toBe(journal.decisions.size)
  return listed.map(({ id }) => id)
}

/** The log has no gaps, every leaf is that of its entry, and each decision is told of once. */
async function expectAudit(server: ShippedServer, decisions: string[]): Promise<number> {
  const entries = (await listAll(server.url, '/v1/audit', CHOSEN_KEY)).sort((a, b) => a.index - b.index)
  const logs = new Set(entries.map(({ log }) => log))
  for (const log of logs) {
    const indices = entries.filter((entry) => entry.log === log).map(({ index }) => index)
    expect(indices).toEqual([...indices.keys()])
  }
  for (const entry of entries) expect(leafHash(entry)).toBe(entry.leaf)
  const told = entries.filter(({ type }) => type === 'decision.created').map(({ subject }) => subject)
  expect(told.sort()).toEqual(decisions.toSorted())
  return entries.length
}

/** Every policy, key and agent is as it was acknowledged, or as an unanswered request would have made it. */
async function expectObjects(server: ShippedServer, journal: Journal): Promise<void> {
  const policies = new Map(
    (await listAll(server.url, '/v1/policies', CHOSEN_KEY)).map(({ id, description }) => [id, description]),
  )
  const keys = (await listAll(server.url, '/v1/keys', CHOSEN_KEY)).filter(({ name }) => name !== 'bootstrap')
  const agents = await listAll(server.url, '/v1/agents', CHOSEN_KEY)
  const faults: (string | null)[] = []
  for (const id of journal.objects.keys()) {
    if (id.startsWith('pol_')) faults.push(journal.observe(id, policies.get(id) ?? 'deleted'))
    if (id.startsWith('switched:')) {
      const suspended = agents.find((agent) => agent.id === id)?.suspended ?? null
      faults.push(journal.observe(id, suspended === null ? 'resumed' : 'suspended'))
    }
  }
  for (const { id, revoked_at } of keys) faults.push(journal.observe(id, revoked_at === null ? 'live' : 'revoked'))
  for (const [id, key] of journal.keyTexts) {
    const { status } = await call(server.url, 'GET', '/v1/keys/self', { key })
    faults.push(journal.observe(id, status === 200 ? 'live' : 'revoked'))
  }
  for (const id of policies.keys()) if (!journal.objects.has(id)) faults.push(`${id} was never asked for`)
  expect(new Set(keys.map(({ name }) => name)).size).toBe(keys.length)
  expect(faults.filter((fault) => fault !== null)).toEqual([])
}

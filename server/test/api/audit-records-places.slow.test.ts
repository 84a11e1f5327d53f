/** Where records can be compared with the log, and what is no edit: other places than a quiet server, and honest changes. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { agentState } from '@countersign/audit-log'
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '#server/adapters/system-clock'
import { typeidIds } from '#server/adapters/typeid-ids'
import { MutationWriter } from '#server/mutation-writer'
import type { AgentWithLastSeen } from '#server/ports/store/agents'
import { removeOldDecisions } from '#server/use-cases/decisions/retention'
import { keySetOf } from '../audit-logs.js'
import { makeRecords, runAudit } from '../audited-records.js'
import { editedStore } from '../edited-store.js'
import { ON_MONGODB, openTestStore } from '../open-test-store.js'
import { endChildren } from '../process/child.js'
import { countersign, newDirectory, removeDirectories } from '../process/shipped-server.js'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, DENIED, decide, succeed } from './refunds.js'

const DAY_MS = 86_400_000
const settings = { rateLimitPerSecond: 0 }

let server: RunningServer
let stop: () => Promise<void> = async () => {}
afterEach(async () => {
  await endChildren()
  await stop()
  removeDirectories()
})

async function begin() {
  server = await runServer({ settings })
  stop = () => server.stop()
  const jwks = join(newDirectory(), 'jwks.json')
  writeFileSync(jwks, JSON.stringify(await keySetOf(server)))
  const made = await makeRecords(server)
  const verify = (...args: string[]) => runAudit(server, ['audit', 'verify', '--records', '--jwks', jwks, ...args])
  return { made, verify }
}

/** The edits that used to pass every check. */
async function editAll(
  dataDir: string,
  { confirmed, denied, approved, policy }: Awaited<ReturnType<typeof makeRecords>>,
) {
  const gone = await decide(server, DENIED)
  const putBack = await decide(server, ALLOWED)
  await succeed(server.call('POST', `/v1/decisions/${putBack.id}/confirm`, { body: { amount: 40 } }))
  const store = editedStore(dataDir)
  await store.document('decisions', [confirmed], ({ outcome }) => Object.assign(outcome, { amount: 12 }))
  await store.document('decisions', [denied], (decision) => Object.assign(decision, { effect: 'allow' }))
  await store.document('decisions', [approved], ({ review }) => Object.assign(review, { decided_by: 'key_x' }))
  await store.member('decisions', [approved], { request_context: '{"amount":421,"currency":"EUR"}' })
  await store.remove('decisions', [gone.id])
  await store.document('decisions', [putBack.id], (decision) =>
    Object.assign(decision, { version: 1, status: 'authorized', outcome: null }),
  )
  await store.member('decisions', [putBack.id], { version: 1 })
  await store.document('policies', [policy, 1], ({ document }) => Object.assign(document, { agents: ['*'] }))
  await store.close()
  return [
    `${approved} request`,
    `${approved} review.decided_by`,
    `${confirmed} outcome.amount`,
    `${denied} effect`,
    `${gone.id} null`,
    `${putBack.id} outcome`,
    `${putBack.id} status`,
    `${putBack.id} version`,
    `${policy} revisions.1.document_hash`,
  ].sort()
}

type Found = Awaited<ReturnType<typeof runAudit>>['found']
const named = (found: Found): string[] =>
  found.record_differences
    .map(({ id, member }: { readonly id: string; readonly member: string | null }) => `${id} ${member}`)
    .sort()

it('finds each edit on a server, in its data and in a backup', async () => {
  const { made, verify } = await begin()
  expect(await verify('--offline')).toMatchObject(
    ON_MONGODB ? { code: 0 } : { code: 1, found: expect.stringContaining('A server is using the data') },
  )
  const edits = await editAll(server.dataDir, made)
  const online = await verify()
  expect([online.code, named(online.found)]).toEqual([2, edits])
  const backup = join(newDirectory(), 'backup.db')
  if (!ON_MONGODB) {
    const { code } = await countersign(['backup', backup], { env: { DATA_DIR: server.dataDir } }).end()
    expect(code).toBe(0)
  }
  const next = await server.restart({
    meanwhile: async () => {
      const offline = await verify('--offline')
      expect([offline.code, named(offline.found)]).toEqual([2, edits])
      const store = editedStore(server.dataDir)
      await store.shortenLogs()
      const shortened = await verify('--offline')
      await store.undo()
      await store.close()
      expect([shortened.code, named(shortened.found)]).toEqual([2, edits])
      if (ON_MONGODB) return
      const inBackup = await verify('--backup', backup)
      expect([inBackup.code, named(inBackup.found)]).toEqual([2, edits])
    },
  })
  stop = () => next.stop()
}, 120_000)

it('takes no decision that retention has removed for a deleted one', async () => {
  const { verify } = await begin()
  server.clock.advance(80 * DAY_MS)
  await decide(server, ALLOWED)
  const next = await server.restart({
    meanwhile: async (dataDir) => {
      const store = await openTestStore(dataDir)
      const writer = new MutationWriter(store, typeidIds(systemClock()), 30_000)
      const { clock } = server
      expect(await removeOldDecisions({ clock, store, writer, isServing: () => true }, 40)).toBeGreaterThan(1)
      await store.close()
    },
  })
  stop = () => next.stop()
  server = next
  const { code, found } = await verify()
  expect(found).toMatchObject({ result: 'intact', record_differences: [] })
  expect(found.removed).toBeGreaterThan(1)
  expect(code).toBe(0)
})

it('raises no false alarm while decisions, reviews, agents, keys and policies change', async () => {
  const { made, verify } = await begin()
  let isOver = false
  const changes = async (i: number): Promise<void> => {
    while (!isOver) {
      const { id } = await decide(server, { ...ALLOWED, context: { amount: 0.01, currency: 'EUR' } })
      await succeed(server.call('POST', `/v1/decisions/${id}/confirm`, { body: { amount: 0.01 } }))
      const agent = `agent:changing-${i}`
      await succeed(server.call('POST', `/v1/agents/${agent}/suspend`, { body: {} }))
      await succeed(server.call('POST', `/v1/agents/${agent}/resume`, { body: {} }))
      const key = await succeed(server.call('POST', '/v1/keys', { body: { name: 'k', scopes: ['agents:read'] } }))
      await succeed(server.call('POST', `/v1/keys/${key.id}/rotate`, { body: {} }))
    }
  }
  const changing = [0, 1, 2].map(changes)
  try {
    for (let i = 0; i < 3; i += 1) {
      const { code, found } = await verify()
      expect(found).toMatchObject({ result: 'intact', record_differences: [] })
      expect(code).toBe(0)
    }
  } finally {
    isOver = true
    await Promise.all(changing)
  }
  const edits = await editAll(server.dataDir, made)
  expect(named((await verify()).found)).toEqual(edits)
}, 120_000)

/** A server in front of the one that is verified. `answer` gives what it answers itself, and null for what it passes on. */
async function inFront(answer: (path: string, pass: () => Promise<Passed>) => Promise<Passed | null>) {
  const proxy = createServer(async (request, response) => {
    const pass = async () => {
      const { authorization = '' } = request.headers
      const passed = await fetch(`${server.url}${request.url}`, { headers: { authorization } })
      const type = passed.headers.get('content-type') ?? ''
      return { status: passed.status, type, body: Buffer.from(await passed.arrayBuffer()) }
    }
    const { status, type, body } = (await answer(request.url as string, pass)) ?? (await pass())
    response.writeHead(status, { 'content-type': type }).end(body)
  }).listen(0)
  await once(proxy, 'listening')
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, close: () => void proxy.close() }
}

interface Passed {
  readonly status: number
  readonly type: string
  readonly body: string | Buffer
}

it('asks a server again that is busy', async () => {
  const { verify } = await begin()
  const refused = new Set<string>()
  const proxy = await inFront(async (path) => {
    const { pathname } = new URL(path, server.url)
    if (refused.has(pathname)) return null
    refused.add(pathname)
    return { status: 503, type: 'application/problem+json', body: '{"code": "replica_stale", "title": "Busy"}' }
  })
  try {
    const { code, found } = await verify('--url', proxy.url)
    expect(found).toMatchObject({ result: 'intact' })
    expect(code).toBe(0)
    expect(refused).toContain('/v1/audit/export')
  } finally {
    proxy.close()
  }
})

it('reads a record again that is ahead of its entries, and waits for its entry', async () => {
  const { made, verify } = await begin()
  const bodyOf = async (path: string) => {
    const { body } = await server.call('GET', path)
    return typeof body === 'string' ? body : JSON.stringify(body)
  }
  /** What the entries are before the agent changes: on MongoDB an entry can be read a moment after its record. */
  let before: { readonly log: string; readonly all: string; readonly ofAgent: string } | undefined
  let readsOfAgent = 0
  const proxy = await inFront(async (path) => {
    const { pathname, searchParams } = new URL(path, server.url)
    if (pathname === '/v1/audit/records' && before === undefined) {
      before = {
        log: await bodyOf('/v1/audit/export'),
        all: await bodyOf('/v1/audit?limit=200'),
        ofAgent: await bodyOf(`/v1/audit?limit=200&subject=${made.agent}`),
      }
      await succeed(server.call('POST', `/v1/agents/${made.agent}/suspend`, { body: {} }))
    }
    if (before === undefined) return null
    if (pathname === '/v1/audit/export') return { status: 200, type: 'application/x-ndjson', body: before.log }
    if (pathname !== '/v1/audit') return null
    const json = { status: 200, type: 'application/json' }
    if (searchParams.get('subject') !== made.agent) return { ...json, body: before.all }
    readsOfAgent += 1
    return readsOfAgent === 1 ? { ...json, body: before.ofAgent } : null
  })
  try {
    const { code, found } = await verify('--url', proxy.url)
    expect(found).toMatchObject({ result: 'intact', record_differences: [] })
    expect(code).toBe(0)
    expect(readsOfAgent).toBe(2)
  } finally {
    proxy.close()
  }
})

it('finds a change that was taken back, also where no checkpoint covers its entry', async () => {
  const { made, verify } = await begin()
  const next = await server.restart({
    meanwhile: async (dataDir) => {
      const store = await openTestStore(dataDir)
      const { agent } = (await store.agents.get(made.agent)) as AgentWithLastSeen
      const at = systemClock().now().toISOString()
      const suspended = { ...agent, version: agent.version + 1, suspended: { at, by: 'key_x', reason: null } }
      await new MutationWriter(store, typeidIds(systemClock()), 30_000).write({
        entry: {
          ...{ at, type: 'agent.suspended', actor: 'key_x', subject: agent.id, agent_id: agent.id },
          data: { reason: null, ...agentState({ ...suspended }) },
        },
        change: { kind: 'agent.write', agent: suspended, expected_version: agent.version },
        idempotency: null,
      })
      await store.close()
      expect(await verify('--offline')).toMatchObject({ code: 0, found: { record_differences: [] } })
      const edited = editedStore(dataDir)
      const { version } = agent
      await edited.document('agents', [agent.id], (held) => Object.assign(held, { version, suspended: null }))
      await edited.member('agents', [agent.id], { version })
      const { code, found } = await verify('--offline')
      await edited.close()
      expect([code, named(found)]).toEqual([2, [`${agent.id} suspended`, `${agent.id} version`]])
    },
  })
  stop = () => next.stop()
}, 120_000)

it(`compares ${stress.compared_decisions} decisions with little memory`, async () => {
  server = await runServer({ settings })
  stop = () => server.stop()
  const jwks = join(newDirectory(), 'jwks.json')
  writeFileSync(jwks, JSON.stringify(await keySetOf(server)))
  const budget = { limit: 1e9, unit: 'EUR', period: 'monthly' }
  await createPolicy(server, { name: 'p', rules: [{ action: 'pay', effect: 'allow' }], budget })
  const asked = { agent_id: 'agent:a', action: 'pay', context: { amount: 1, text: 'x'.repeat(2_000) } }
  let left = stress.compared_decisions
  const ask = async () => {
    while (left-- > 0) await decide(server, asked)
  }
  await Promise.all(Array.from({ length: 32 }, ask))
  const heap = { NODE_OPTIONS: '--max-old-space-size=256' }
  const { code, found } = await runAudit(server, ['audit', 'verify', '--records', '--jwks', jwks], heap)
  expect(found).toMatchObject({ result: 'intact', compared: { decision: stress.compared_decisions } })
  expect(code).toBe(0)
}, 1_200_000)

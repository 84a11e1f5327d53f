/** RETENTION_DAYS and the proof: what is gone is vouched for by logs that are whole, and by the permits that name them. */
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { afterEach, expect, it } from 'vitest'
import { typeidIds } from '#server/adapters/typeid-ids'
import { MutationWriter } from '#server/mutation-writer'
import { removeOldDecisions } from '#server/use-cases/decisions/retention'
import { databaseOf, ON_MONGODB, openTestStore } from '../open-test-store.js'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import { walk } from '../store-suite/index.js'
import { mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const DAY_MS = 86_400_000
const DAYS = 40
const settings = { issuer: 'https://decide.example.com' }

let running: RunningServer[] = []
afterEach(async () => {
  for (const server of running.reverse()) await server.stop()
  running = []
})

/** Another process that writes to the store: beside the first one where several share a store, else after it. */
async function another(first: RunningServer): Promise<RunningServer> {
  const mongodbUrl = mongoUrlOf(first)
  const second =
    mongodbUrl === null
      ? await first.restart()
      : await runServer({ settings: { ...settings, mongodbUrl }, clock: first.clock })
  running = mongodbUrl === null ? [second] : [first, second]
  return second
}

function mongoUrlOf({ dataDir }: RunningServer): string | null {
  return ON_MONGODB ? mongoUrl(databaseOf(dataDir)) : null
}

/** As a server does it once an hour. */
async function removeOld(dataDir: string, { clock }: RunningServer): Promise<void> {
  const store = await openTestStore(dataDir)
  const writer = new MutationWriter(store, typeidIds(clock), 30_000)
  expect(await removeOldDecisions({ clock, store, writer, isServing: () => true }, DAYS)).toBe(4)
  await store.close()
}

async function post(server: RunningServer, path: string, body: object): Promise<Answer['body']> {
  const answer = await server.call('POST', path, { body })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

/** A decision that was allowed and given up, and one that was denied. */
async function decide(server: RunningServer): Promise<readonly Answer['body'][]> {
  const ask = (action: string) => post(server, '/v1/decisions', { agent_id: 'agent:a', action, context: { amount: 1 } })
  const [allowed, denied] = [await ask('pay.create'), await ask('none.asked')]
  await post(server, `/v1/decisions/${allowed.id}/reject`, {})
  return [allowed, denied]
}

/** The place in the log that a permit names. */
function placeOf({ permit_token }: Answer['body']): Pick<AuditEntry, 'log' | 'index' | 'leaf'> {
  return JSON.parse(Buffer.from(permit_token.split('.')[1], 'base64url').toString()).audit
}

function entriesOf(server: RunningServer): Promise<readonly AuditEntry[]> {
  return walk(50, async ({ limit, after }) => {
    const cursor = after === null ? '' : `&cursor=${encodeURIComponent(after)}`
    const { data, next_cursor } = (await server.call('GET', `/v1/audit?limit=${limit}${cursor}`)).body
    return { items: data, next: next_cursor }
  })
}

it('every log is whole and has what permits name of decisions that were removed', async () => {
  const first = await runServer({ settings })
  running = [first]
  const rules = [{ action: 'pay.create', effect: 'allow' }]
  await post(first, '/v1/policies', { name: 'p', rules, budget: { limit: 9, unit: 'EUR', period: 'monthly' } })
  const decisions = [...(await decide(first))]
  const second = await another(first)
  decisions.push(...(await decide(second)))
  const before = await entriesOf(second)

  second.clock.advance(DAYS * DAY_MS + 1)
  const server = await second.restart({ meanwhile: () => removeOld(first.dataDir, second) })
  running = [...running.slice(0, -1), server]
  for (const { id } of decisions) expect((await server.call('GET', `/v1/decisions/${id}`)).status).toBe(404)

  const entries = await entriesOf(server)
  for (const entry of entries) expect(leafHash(entry)).toBe(entry.leaf)
  const logs = new Set(entries.map(({ log }) => log))
  expect(logs.size).toBe(ON_MONGODB ? 2 : 1)
  for (const log of logs) {
    const indexes = entries.filter((entry) => entry.log === log).map(({ index }) => index)
    expect(indexes.sort((one, other) => one - other)).toEqual([...indexes.keys()])
  }
  expect(entries).toEqual(expect.arrayContaining([...before]))
  const [announced] = entries.filter(({ type }) => type === 'decisions.removed')
  expect(announced?.data).toEqual({ evaluated_before: expect.any(String), ended_before: expect.any(String) })
  for (const decision of decisions.filter(({ effect }) => effect === 'allow')) {
    const place = placeOf(decision)
    const named = entries.find(({ log, index }) => log === place.log && index === place.index)
    expect(named).toMatchObject({ subject: decision.id, type: 'decision.created', leaf: place.leaf })
  }
})

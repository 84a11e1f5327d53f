/** `GET /v1/audit/records`: what the log binds of each record, and nothing that opens a door. */
import { hash } from 'node:crypto'
import { jsonHash } from '@countersign/audit-log'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StoredWebhook } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { listRecords } from '#server/use-cases/audit/records'
import { HIDDEN_TOKEN, type MadeRecords, makeRecords } from '../audited-records.js'
import { openTestStore } from '../open-test-store.js'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import { makeKey, succeed } from './refunds.js'

let server: RunningServer
let store: Store
let made: MadeRecords
beforeAll(async () => {
  const openStore = async (dataDir: string) => {
    store = await openTestStore(dataDir)
    return store
  }
  server = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore } })
  made = await makeRecords(server)
})
afterAll(() => server.stop())

const list = (query: string, key?: string) =>
  server.call('GET', `/v1/audit/records?${query}`, key === undefined ? {} : { key })

it('lists records of each kind, one by its id, and all revisions of a policy', async () => {
  for (const kind of ['decision', 'policy', 'agent', 'key', 'webhook', 'account']) {
    const { data } = await succeed(list(`kind=${kind}`))
    expect(data.length, kind).toBeGreaterThan(0)
    expect(new Set(data.map((record: { readonly kind: string }) => record.kind))).toEqual(new Set([kind]))
  }
  const { data: decisions } = await succeed(list(`kind=decision&id=${made.confirmed}`))
  expect(decisions).toMatchObject([{ id: made.confirmed, record: { request: { salt: expect.any(String) } } }])
  const { data: revisions } = await succeed(list(`kind=policy&id=${made.policy}`))
  expect(revisions.map(({ record }: { readonly record: { readonly version: number } }) => record.version)).toEqual([
    2, 1,
  ])
  expect(await succeed(list('kind=key&id=key_01kagx3v5ne8sr6w1y6gqk4t2h'))).toEqual({ data: [], next_cursor: null })
})

it('goes on page by page', async () => {
  const first = await succeed(list('kind=key&limit=1'))
  const second = await succeed(list(`kind=key&limit=1&cursor=${encodeURIComponent(first.next_cursor)}`))
  expect(second.data[0].id > first.data[0].id).toBe(true)
})

it('gives others a turn at each registration of an agent', async () => {
  let turns = 0
  const pause = async () => {
    turns += 1
  }
  const now = FROZEN.toISOString()
  const { items } = await listRecords({ store }, 'agent', made.agent, { limit: 1, after: null, pause }, now)
  expect(Object.keys(items[0]?.record.registrations ?? {})).toEqual(['1', '2'])
  expect(turns).toBe(2)
})

it('shows neither the text of a key nor the hash that the store compares with', async () => {
  const text = JSON.stringify((await succeed(list('kind=key&limit=200'))).data)
  expect(text).not.toContain(server.key)
  expect(text).not.toContain(hash('sha256', server.key, 'base64url'))
})

it('shows of a webhook no secret and no query of its URL, and the log no more', async () => {
  const { data } = await succeed(list(`kind=webhook&id=${made.webhook}`))
  const bound = {
    version: 3,
    url: 'https://example.com/hooks',
    events: ['budget.exceeded'],
    enabled: true,
    settings_hash: expect.stringMatching(/^[\w-]{43}$/),
  }
  expect(data).toEqual([{ kind: 'webhook', id: made.webhook, record: { ...bound, is_deleted: false } }])
  const { data: entries } = await succeed(server.call('GET', `/v1/audit?subject=${made.webhook}`))
  expect(entries[0].data).toEqual({ secret_rotated: true, grace_seconds: expect.any(Number), ...bound })
  const shown = JSON.stringify([data, entries])
  const [stored] = await store.webhooks.load()
  const { url, description, events, salt, secrets } = stored as StoredWebhook
  expect(url).toContain(HIDDEN_TOKEN)
  const unsalted = jsonHash({ description, events, url })
  for (const text of [HIDDEN_TOKEN, 'whsec_', secrets[0]?.text, salt, unsalted, jsonHash(secrets)])
    expect(shown).not.toContain(text)
})

it('needs the scope of the kind, too', async () => {
  const { key } = await makeKey(server, ['audit:read', 'decisions:read'])
  expect((await list('kind=decision', key)).status).toBe(200)
  for (const kind of ['policy', 'agent', 'key', 'webhook', 'account'])
    expect((await list(`kind=${kind}`, key)).body, kind).toMatchObject({ status: 403, code: 'insufficient_scope' })
})

it('refuses an unknown kind and a foreign cursor', async () => {
  expect((await list('kind=delivery')).status).toBe(400)
  expect((await list('kind=key&cursor=x')).body).toMatchObject({ code: 'invalid_cursor' })
})

/** A store that an older release began: its entries bind less, and nothing of that is taken for an edit. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exportWith, keySetOf } from '../audit-logs.js'
import { type MadeRecords, makeRecords, runAudit } from '../audited-records.js'
import { editedStore } from '../edited-store.js'
import { openOlderStore } from '../older-release.js'
import { endChildren } from '../process/child.js'
import { newDirectory, removeDirectories } from '../process/shipped-server.js'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, decide, succeed } from './refunds.js'

let server: RunningServer
let made: MadeRecords
let jwks: string
const fileOf = (name: string, content: string): string => {
  const path = join(newDirectory(), name)
  writeFileSync(path, content)
  return path
}
beforeAll(async () => {
  const settings = { rateLimitPerSecond: 0 }
  const older = await runServer({ settings, parts: { openStore: (dataDir) => openOlderStore(dataDir) } })
  made = await makeRecords(older)
  const open = await decide(older, ALLOWED)
  server = await older.restart({ parts: {} })
  await succeed(server.call('POST', `/v1/decisions/${open.id}/confirm`, { body: { amount: 1 } }))
  await decide(server, ALLOWED)
  jwks = fileOf('jwks.json', JSON.stringify(await keySetOf(server)))
}, 120_000)
afterAll(async () => {
  await endChildren()
  await server.stop()
  removeDirectories()
})

const verify = () => runAudit(server, ['audit', 'verify', '--records', '--jwks', jwks])

it('says of records what is not bound, and of accounts that they cannot be added up', async () => {
  const { code, found } = await verify()
  expect(found).toMatchObject({ result: 'intact', record_differences: [] })
  expect(code).toBe(0)
  expect(found.not_bound).toMatchObject({
    'decision: status': expect.any(Number),
    'decision: details': expect.any(Number),
    'policy: revisions.document_hash': expect.any(Number),
    'agent: metadata_hash': expect.any(Number),
    'key: scopes': expect.any(Number),
    'webhook: settings_hash': 2,
    'webhook: url': 2,
  })
  expect(found.not_added_up).toHaveLength(1)
  expect(found.message).toContain('written by an older release')
})

it('compares no webhook that only an older release has written, and binds it with its next change', async () => {
  const store = editedStore(server.dataDir)
  await store.document('webhooks', [made.webhook], (held) => Object.assign(held, { events: ['key.revoked'] }))
  try {
    expect(await verify()).toMatchObject({ code: 0, found: { result: 'intact', not_bound: { 'webhook: events': 2 } } })
    await succeed(server.call('POST', `/v1/webhooks/${made.webhook}/rotate-secret`, { body: {} }))
    expect(await verify()).toMatchObject({ code: 0, found: { result: 'intact', not_bound: { 'webhook: events': 1 } } })
    await store.document('webhooks', [made.webhook], (held) => Object.assign(held, { events: null }))
    const { code, found } = await verify()
    expect(code).toBe(2)
    expect(found.record_differences).toEqual([
      expect.objectContaining({ kind: 'webhook', id: made.webhook, member: 'events', stored: null }),
      expect.objectContaining({ kind: 'webhook', id: made.webhook, member: 'settings_hash' }),
    ])
  } finally {
    await store.document('webhooks', [made.webhook], (held) => Object.assign(held, { events: ['key.revoked'] }))
    await store.close()
  }
})

it('finds edits of what the older entries do bind', async () => {
  const store = editedStore(server.dataDir)
  await store.document('decisions', [made.denied], (decision) => Object.assign(decision, { effect: 'allow' }))
  await store.member('decisions', [made.approved], { request_context: '{"amount":421,"currency":"EUR"}' })
  try {
    const { code, found } = await verify()
    expect(code).toBe(2)
    expect(found.record_differences).toHaveLength(2)
    expect(found.record_differences).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: made.denied, member: 'effect', logged: 'deny', stored: 'allow' }),
        expect.objectContaining({ id: made.approved, member: 'request' }),
      ]),
    )
  } finally {
    await store.undo()
    await store.close()
  }
})

it('takes a decision for deleted that was not old enough for the older release to remove', async () => {
  const store = editedStore(server.dataDir)
  await store.remove('decisions', [made.denied])
  try {
    const { code, found } = await verify()
    expect(found.record_differences).toEqual([expect.objectContaining({ id: made.denied, member: null, stored: null })])
    expect(code).toBe(2)
  } finally {
    await store.undo()
    await store.close()
  }
})

it('is no contradiction for --budgets', async () => {
  const budgets = fileOf('budgets.json', JSON.stringify(await succeed(server.call('GET', '/v1/budgets'))))
  const exported = fileOf('export.ndjson', await exportWith(server, 1))
  const { code, found } = await runAudit(server, ['audit', 'verify', exported, '--budgets', budgets, '--jwks', jwks])
  expect(found).toMatchObject({ result: 'intact', not_added_up: [expect.stringContaining(made.policy)] })
  expect(found.message).toContain('cannot be added up')
  expect(code).toBe(0)
})

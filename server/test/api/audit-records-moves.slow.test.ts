/**
 * Each row of the table "Edits that a later entry repeats" in docs/security.md: the stored data is edited, the server goes on with
 * it, and writes an entry that says what was edited.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RecordDifference } from '@countersign/audit-log'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySetOf } from '../audit-logs.js'
import { runAudit } from '../audited-records.js'
import { type EditedStore, editedStore } from '../edited-store.js'
import { endChildren } from '../process/child.js'
import { newDirectory, removeDirectories } from '../process/shipped-server.js'
import { type RunningServer, runServer } from '../running-server.js'
import { signInWith } from './browser-session.js'
import { ALLOWED, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'

const PAGE = fileURLToPath(new URL('../../../docs/security.md', import.meta.url))
const OTHER_KEY = 'key_01kagx3v5ne8sr6w1y6gqk4t2h'
const OTHER_HASH = Buffer.alloc(32, 7).toString('base64url')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** It asks for nothing that happens here. */
const WEBHOOK = { url: 'https://example.com/hooks', events: ['budget.exceeded'] }

let server: RunningServer
let asker: { readonly key: string }
const post = (path: string, body: object = {}, key?: string) =>
  succeed(server.call('POST', path, { body, ...(key !== undefined && { key }) }))
const reviewed = async (): Promise<string> => (await decide(server, REVIEWED, asker.key)).id
const allowed = async (): Promise<string> => (await decide(server, ALLOWED, asker.key)).id
const approved = async (): Promise<string> => (await post(`/v1/decisions/${await reviewed()}/approve`)).id
const claim = (id: string) => post(`/v1/decisions/${id}/claim`, { holder: 'run-1' }, asker.key)
const confirm = (id: string) => post(`/v1/decisions/${id}/confirm`, {}, asker.key)
const claimAndConfirm = async (id: string) => {
  await claim(id)
  await confirm(id)
}
const permits = new Map<string, string>()
// biome-ignore lint/suspicious/noExplicitAny: a record is whatever the store holds
const requests = new Map<string, any>()
const redeemed = async (): Promise<string> => {
  const { id, permit_token } = await decide(server, ALLOWED, asker.key)
  permits.set(id, permit_token)
  await post('/v1/permits/redeem', { permit_token })
  return id
}

/** Changes that are no edits, beside those that the ledger model makes: they must all be taken for what they are. */
async function doAllThatIsLegal(): Promise<void> {
  const reject = (id: string) => post(`/v1/decisions/${id}/reject`, {}, asker.key)
  const erase = (id: string) => succeed(server.call('DELETE', `/v1/audit/requests/${id}`))
  const [late, erasedOpen, erasedLate, corrected] = [await allowed(), await allowed(), await allowed(), await allowed()]
  await reject(await reviewed())
  await reject(await approved())
  await post(`/v1/decisions/${await approved()}/decline`, { comment: 'Changed my mind.' })
  const claimed = await approved()
  await claim(claimed)
  await reject(claimed)
  await erase(erasedOpen)
  await confirm(erasedOpen)
  const waiting = await reviewed()
  await erase(waiting)
  await post(`/v1/decisions/${waiting}/decline`)
  await confirm(corrected)
  for (const result of ['rejected', 'confirmed']) await post(`/v1/decisions/${corrected}/correct`, { result })
  await erase(corrected)
  await confirm(await redeemed())
  server.clock.advance(HOUR_MS)
  await confirm(late)
  await erase(erasedLate)
  await confirm(erasedLate)

  const { id: policy } = await createPolicy(server, { ...REFUNDS, name: 'kept' })
  await succeed(server.call('PUT', `/v1/policies/${policy}`, { body: { ...REFUNDS, name: 'renamed' } }))
  await succeed(server.call('DELETE', `/v1/policies/${policy}`))
  await createPolicy(server, { ...REFUNDS, name: 'renamed' })

  const agent = 'agent:busy'
  for (const verb of ['resume', 'suspend', 'suspend', 'resume', 'resume']) await post(`/v1/agents/${agent}/${verb}`)
  for (const metadata of [{ limit: 1 }, {}]) {
    await post('/v1/agents', { id: agent, metadata })
    await succeed(server.call('PUT', `/v1/agents/${agent}`, { body: { name: 'Busy' } }))
    await post(`/v1/agents/${agent}/suspend`)
    await succeed(server.call('PUT', `/v1/agents/${agent}`, { body: { name: 'Busy' } }))
    await post(`/v1/agents/${agent}/resume`)
    await succeed(server.call('DELETE', `/v1/agents/${agent}`))
  }

  const webhook = await post('/v1/webhooks', { ...WEBHOOK, enabled: false })
  const replace = (body: object) => succeed(server.call('PUT', `/v1/webhooks/${webhook.id}`, { body }))
  await replace({ ...WEBHOOK, events: ['webhook.disabled'] })
  await replace({ url: 'https://example.com/others?token=x', events: ['budget.exceeded'], enabled: false })
  await post(`/v1/webhooks/${webhook.id}/rotate-secret`)
  await replace({ ...WEBHOOK, enabled: false })
  await succeed(server.call('DELETE', `/v1/webhooks/${webhook.id}`))

  const { id: key, key: secret } = await makeKey(server, ['decisions:read'])
  const session = await signInWith(server, secret)
  await signInWith(server, secret)
  await post(`/v1/keys/${key}/rotate`, { grace_seconds: 7200 })
  await session.send('DELETE', '/dashboard/session')
  server.clock.advance(HOUR_MS)
  await post(`/v1/keys/${key}/rotate`, { grace_seconds: 60 })
  await post(`/v1/keys/${key}/rotate`)
  await succeed(server.call('DELETE', `/v1/keys/${key}`))
}

interface Case {
  /** Gives the id of a record as the server has made it. */
  readonly make: () => Promise<string>
  readonly edit: (store: EditedStore, id: string) => Promise<void>
  /** What the server does with the edited record. */
  readonly goOn: (id: string) => Promise<unknown>
}

const decision =
  (edit: (document: Parameters<Parameters<EditedStore['document']>[2]>[0]) => void): Case['edit'] =>
  (store, id) =>
    store.document('decisions', [id], edit)

const CASES: Readonly<Record<string, Case>> = {
  'The person who approved, before a claim': {
    make: approved,
    edit: decision(({ review }) => Object.assign(review, { decided_by: OTHER_KEY })),
    goOn: claimAndConfirm,
  },
  'The comment of an approval, before its expiry': {
    make: approved,
    edit: decision(({ review }) => Object.assign(review, { comment: 'Edited.' })),
    goOn: async () => {},
  },
  'A self-approval, before a claim': {
    make: approved,
    edit: decision(({ review }) => Object.assign(review, { self_approved: true })),
    goOn: claim,
  },
  'The amount of a budget, before a confirmation': {
    make: allowed,
    edit: decision(({ budgets }) => Object.assign(budgets[0], { amount: 1 })),
    goOn: confirm,
  },
  'What is reserved, before a confirmation': {
    make: allowed,
    edit: decision(({ postings }) => Object.assign(postings[0], { reserved: '1' })),
    goOn: confirm,
  },
  'A waiting review made an approved one, before a claim': {
    make: reviewed,
    edit: decision((held) => {
      held.status = 'approved'
      Object.assign(held.review, { status: 'approved', decided_by: OTHER_KEY })
    }),
    goOn: claimAndConfirm,
  },
  'A denied decision made an authorized one, before a confirmation': {
    make: async () => (await decide(server, DENIED, asker.key)).id,
    edit: decision((held) =>
      Object.assign(held, { status: 'authorized', expires_at: '2030-01-01T00:00:00.000Z', holder: { name: null } }),
    ),
    goOn: confirm,
  },
  'An outcome taken back, before another confirmation': {
    make: async () => {
      const id = await allowed()
      await confirm(id)
      return id
    },
    edit: decision((held) => Object.assign(held, { status: 'authorized', outcome: null })),
    goOn: confirm,
  },
  'An erased request put back, before an approval': {
    make: async () => {
      const id = await reviewed()
      const [{ record }] = (await succeed(server.call('GET', `/v1/audit/records?kind=decision&id=${id}`))).data
      requests.set(id, record)
      await succeed(server.call('DELETE', `/v1/audit/requests/${id}`))
      return id
    },
    edit: async (store, id) => {
      const { resource, request_hash, request } = requests.get(id) ?? {}
      await store.document('decisions', [id], (held) => {
        delete held.request_erased_at
        Object.assign(held, { resource, request_hash })
      })
      const { context, salt } = request
      await store.member('decisions', [id], { request_context: JSON.stringify(context), request_salt: salt })
    },
    goOn: (id) => post(`/v1/decisions/${id}/approve`),
  },
  'A redemption taken back, before another one': {
    make: redeemed,
    edit: decision((held) => Object.assign(held, { redeemed: null })),
    goOn: (id) => post('/v1/permits/redeem', { permit_token: permits.get(id) }),
  },
  'A number of changes, before a confirmation': {
    make: allowed,
    edit: async (store, id) => {
      await store.document('decisions', [id], (held) => Object.assign(held, { version: 5 }))
      await store.member('decisions', [id], { version: 5 })
    },
    goOn: confirm,
  },
  'The revision number of a policy, before the next revision': {
    make: async () => (await createPolicy(server, { ...REFUNDS, name: 'renumbered' })).id,
    edit: (store, id) => store.renumberPolicy(id, 4),
    goOn: (id) => succeed(server.call('PUT', `/v1/policies/${id}`, { body: { ...REFUNDS, name: 'renumbered' } })),
  },
  'A suspension that was lifted, before a registration': {
    make: async () => {
      await post('/v1/agents/agent:lifted/suspend', { reason: 'lost' })
      return 'agent:lifted'
    },
    edit: (store, id) => store.document('agents', [id], (agent) => Object.assign(agent, { suspended: null })),
    goOn: (id) => post('/v1/agents', { id }),
  },
  'The metadata of an agent, before a suspension': {
    make: async () => (await post('/v1/agents', { id: 'agent:edited', metadata: { limit: 50 } })).id,
    edit: (store, id) =>
      store.document('agents', [id], ({ registration }) => Object.assign(registration.metadata, { limit: 1e6 })),
    goOn: (id) => post(`/v1/agents/${id}/suspend`),
  },
  'The scopes of a key, before its rotation': {
    make: async () => (await makeKey(server, ['decisions:read'])).id,
    edit: (store, id) => store.document('keys', [id], (held) => Object.assign(held, { scopes: ['*'] })),
    goOn: (id) => post(`/v1/keys/${id}/rotate`),
  },
  'A session that nobody started, before a rotation with a grace': {
    make: async () => (await makeKey(server, ['decisions:read'])).id,
    edit: (store, id) =>
      store.document('keys', [id], (held) =>
        Object.assign(held, {
          sessions: [
            { hash: OTHER_HASH, started_at: '2026-11-21T10:00:00.000Z', expires_at: '2036-11-21T10:00:00.000Z' },
          ],
        }),
      ),
    goOn: (id) => post(`/v1/keys/${id}/rotate`, { grace_seconds: 60 }),
  },
  'A revoked key that works again, before its rotation': {
    make: async () => {
      const { id } = await makeKey(server, ['decisions:read'])
      await succeed(server.call('DELETE', `/v1/keys/${id}`))
      return id
    },
    edit: (store, id) => store.document('keys', [id], (held) => Object.assign(held, { revoked_at: null })),
    goOn: (id) => post(`/v1/keys/${id}/rotate`),
  },
  'The URL of a webhook, before the rotation of its secret': {
    make: async () => (await post('/v1/webhooks', WEBHOOK)).id,
    edit: (store, id) =>
      store.document('webhooks', [id], (held) => Object.assign(held, { url: 'https://other.example/' })),
    goOn: (id) => post(`/v1/webhooks/${id}/rotate-secret`),
  },
  'The events of a webhook, before its deletion': {
    make: async () => (await post('/v1/webhooks', WEBHOOK)).id,
    edit: (store, id) => store.document('webhooks', [id], (held) => Object.assign(held, { events: ['key.revoked'] })),
    goOn: (id) => succeed(server.call('DELETE', `/v1/webhooks/${id}`)),
  },
}

/** The rows of the table: what is edited, and the member that is named. */
function rowsOf(page: string) {
  const [, section = ''] = page.split('### Edits that a later entry repeats\n')
  const rows = (section.split(/^#/m)[0] as string).split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) => {
    const [, edit = '', command = '', member = ''] = row.split('|').map((cell) => cell.trim().replaceAll('`', ''))
    return { edit, command, member }
  })
}

const ROWS = rowsOf(readFileSync(PAGE, 'utf8'))
const VERIFY = ['audit', 'verify', '--records']
const ids = new Map<string, string>()
let jwks: string
let report: Awaited<ReturnType<typeof runAudit>>

beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0, issuer: 'https://decide.example' } })
  await createPolicy(server, { ...REFUNDS, budget: { limit: 1_000_000, unit: 'EUR', period: 'total' } })
  asker = await makeKey(server, ['decisions:write'])
  jwks = join(newDirectory(), 'jwks.json')
  writeFileSync(jwks, JSON.stringify(await keySetOf(server)))
  await doAllThatIsLegal()
  expect(await runAudit(server, [...VERIFY, '--jwks', jwks])).toMatchObject({
    code: 0,
    found: { record_differences: [], not_bound: {}, not_compared: 0 },
  })
  for (const [name, { make }] of Object.entries(CASES)) ids.set(name, await make())
  // Keys, agents and policies are read at the start.
  server = await server.restart({
    meanwhile: async (dataDir) => {
      const store = editedStore(dataDir)
      for (const [name, { edit }] of Object.entries(CASES)) await edit(store, ids.get(name) as string)
      await store.close()
    },
  })
  for (const [name, { goOn }] of Object.entries(CASES)) await goOn(ids.get(name) as string)
  server.clock.advance(DAY_MS)
  // Writes what the clock has ended.
  await succeed(server.call('GET', '/v1/budgets'))
  report = await runAudit(server, [...VERIFY, '--jwks', jwks])
}, 120_000)
afterAll(async () => {
  await endChildren()
  await server.stop()
  removeDirectories()
})

describe('the table of edits that a later entry repeats', () => {
  it('has a case for each row, and a row for each case', () => {
    expect(ROWS.map(({ edit }) => edit)).toEqual(Object.keys(CASES))
    expect(new Set(ROWS.map(({ command }) => command))).toEqual(new Set([VERIFY.join(' ')]))
  })

  it('is of a log that is in order', () => {
    expect(report).toMatchObject({ code: 2, found: { result: 'tampered' } })
    expect(report.found.message).toContain('The log is intact, but')
  })

  it.each(ROWS)('$edit is found between two entries', ({ edit, member }) => {
    const differences: RecordDifference[] = report.found.record_differences
    const named = differences.filter(({ id, later_entry }) => id === ids.get(edit) && later_entry !== null)
    expect(named.map((one) => one.member)).toContain(member)
    for (const { entry, later_entry } of named) expect(entry?.id).not.toBe(later_entry?.id)
  })

  it('names no secret', () => {
    expect(report.found.message).toContain('sessions of the key')
    const secret = /^(secrets|sessions)/
    for (const { member, logged, stored } of report.found.record_differences as RecordDifference[])
      if (secret.test(member ?? '')) expect([logged, stored]).toEqual(['(not shown)', '(not shown)'])
  })
})

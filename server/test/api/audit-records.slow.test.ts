/** Each row of the table "Records" in docs/security.md: the edit is made in the real store, and the command of the row finds it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RecordDifference } from '@countersign/audit-log'
import { stress } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySetOf } from '../audit-logs.js'
import { type MadeRecords, makeRecords, runAudit } from '../audited-records.js'
import { type EditedStore, editedStore } from '../edited-store.js'
import { ON_MONGODB } from '../open-test-store.js'
import { endChildren } from '../process/child.js'
import { newDirectory, removeDirectories } from '../process/shipped-server.js'
import { type RunningServer, runServer } from '../running-server.js'

const PAGE = fileURLToPath(new URL('../../../docs/security.md', import.meta.url))
const OTHER_KEY = 'key_01kagx3v5ne8sr6w1y6gqk4t2h'
const OTHER_HASH = Buffer.alloc(32, 7).toString('base64url')

const FORGED = (decision: { effect: string }) => Object.assign(decision, { effect: 'allow' })

/** The edit of each row, by the first column. */
const EDITS: Readonly<Record<string, (store: EditedStore, made: MadeRecords) => Promise<void>>> = {
  'The amount of an outcome': (store, { confirmed }) =>
    store.document('decisions', [confirmed], ({ outcome }) => Object.assign(outcome, { amount: 12 })),
  'A deny made an allow': (store, { denied }) =>
    store.document('decisions', [denied], (decision) => Object.assign(decision, { effect: 'allow' })),
  'The person who approved': (store, { approved }) =>
    store.document('decisions', [approved], ({ review }) => Object.assign(review, { decided_by: OTHER_KEY })),
  'The comment of a reviewer': (store, { approved }) =>
    store.document('decisions', [approved], ({ review }) => Object.assign(review, { comment: 'Never.' })),
  'The context of a request': (store, { denied }) =>
    store.member('decisions', [denied], { request_context: '{"amount":15,"currency":"EUR"}' }),
  'The resource of a request': (store, { denied }) =>
    store.document('decisions', [denied], (decision) => Object.assign(decision, { resource: 'order:1' })),
  'The reason of a decision': (store, { approved }) =>
    store.document('decisions', [approved], (decision) => Object.assign(decision, { reason: 'Because.' })),
  'The trace of a decision': (store, { approved }) =>
    store.document('decisions', [approved], (decision) => Object.assign(decision, { trace_id: 'b'.repeat(32) })),
  'The end of a decision': (store, { confirmed }) =>
    store.document('decisions', [confirmed], (decision) =>
      Object.assign(decision, { expires_at: '2030-01-01T00:00:00.000Z' }),
    ),
  'What a decision counts for in a budget': (store, { confirmed }) =>
    store.document('decisions', [confirmed], ({ postings }) => Object.assign(postings[0], { spent: '1' })),
  'A decision put back to an earlier state': async (store, { confirmed }) => {
    await store.document('decisions', [confirmed], (decision) =>
      Object.assign(decision, { version: 1, status: 'authorized', outcome: null }),
    )
    // Else the row is damaged, and nobody has to look into the log.
    await store.member('decisions', [confirmed], { version: 1 })
  },
  'A deleted decision': (store, { denied }) => store.remove('decisions', [denied]),
  'A decision that was never made': (store, { denied }) =>
    store.copy('decisions', [denied], otherId(denied), (decision) => Object.assign(decision, { id: otherId(denied) })),
  'The text of a policy revision': (store, { policy }) =>
    store.document('policies', [policy, 1], ({ document }) => Object.assign(document.rules[0], { effect: 'deny' })),
  'A policy revision without a text': (store, { policy }) =>
    store.document('policies', [policy, 1], (held) => Object.assign(held, { document: null })),
  'The creator of a policy': (store, { policy }) =>
    store.document('policies', [policy, 1], (held) => Object.assign(held, { created_by: otherId(held.created_by) })),
  'A deleted policy revision': (store, { policy }) => store.remove('policies', [policy, 1]),
  'A closed revision of a policy that names another policy': (store, { policy }) =>
    store.document('policies', [policy, 1], (held) => Object.assign(held, { id: otherId(policy) })),
  'A second row with a closed revision of a policy': (store, { policy }) => store.copyRevision(policy, 1, 99),
  'A policy that was never written': (store, { policy }) => store.livePolicy(policy, 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'),
  'The metadata of an agent': (store, { agent }) =>
    store.document('agents', [agent], ({ registration }) => Object.assign(registration.metadata, { limit: 1e6 })),
  'An earlier registration of an agent': (store, { agent }) =>
    store.document('agent_revisions', [agent, 1], (registration) => Object.assign(registration, { name: 'Root' })),
  'A suspension that was lifted': (store, { suspended }) =>
    store.document('agents', [suspended], (agent) => Object.assign(agent, { suspended: null })),
  'The scopes of a key': (store, { key }) =>
    store.document('keys', [key], (held) => Object.assign(held, { scopes: ['*'] })),
  'The agents of a key': (store, { key }) =>
    store.document('keys', [key], (held) => Object.assign(held, { agents: null })),
  'The end of a key': (store, { key }) =>
    store.document('keys', [key], (held) => Object.assign(held, { expires_at: null })),
  'A revoked key that works again': (store, { revokedKey }) =>
    store.document('keys', [revokedKey], (held) => Object.assign(held, { revoked_at: null })),
  'The secret of a key': (store, { key }) =>
    store.document('keys', [key], ({ secrets }) => Object.assign(secrets[0], { hash: OTHER_HASH })),
  'A session that nobody started': (store, { key }) =>
    store.document('keys', [key], (held) =>
      Object.assign(held, {
        sessions: [
          { hash: OTHER_HASH, started_at: '2026-11-21T10:00:00.000Z', expires_at: '2036-11-21T10:00:00.000Z' },
        ],
      }),
    ),
  'A row of a decision that has another id': async (store, { denied }) => {
    await store.rename('decisions', [denied], otherId(denied))
  },
  'A forged decision in place of a row that has another id': async (store, { denied }) => {
    await store.rename('decisions', [denied], otherId(denied))
    await store.copy('decisions', [otherId(denied)], denied, FORGED)
  },
  'A second row with the document of a policy': (store, { policy }) =>
    store.copy('policies', [policy, 2], otherId(policy), ({ document }) =>
      Object.assign(document.rules[0], { action: '*' }),
    ),
  'A suspended agent that names another one in its document': (store, { agent, suspended }) =>
    store.document('agents', [suspended], (held) => Object.assign(held, { id: agent })),
  'A second row with the document of a key': (store, { key }) =>
    store.copy('keys', [key], otherId(key), (held) => Object.assign(held, { scopes: ['*'] })),
  'A row of a key that has another id': async (store, { key }) => {
    await store.rename('keys', [key], otherId(key))
  },
  'The version of a row of a key': (store, { key }) => store.member('keys', [key], { version: 99 }),
  'The URL of a webhook': (store, { webhook }) =>
    store.document('webhooks', [webhook], (held) => Object.assign(held, { url: 'https://other.example/' })),
  'The query of the URL of a webhook': (store, { webhook }) =>
    store.document('webhooks', [webhook], (held) => Object.assign(held, { url: `${held.url}&to=other` })),
  'The events of a webhook': (store, { webhook }) =>
    store.document('webhooks', [webhook], (held) => Object.assign(held, { events: null })),
  'A disabled webhook that works again': (store, { disabledWebhook }) =>
    store.document('webhooks', [disabledWebhook], (held) => Object.assign(held, { disabled: null })),
  'The salt of a webhook, removed with its URL': (store, { webhook }) =>
    store.document('webhooks', [webhook], (held) => {
      delete held.salt
      Object.assign(held, { url: `${held.url}&to=other` })
    }),
  'A webhook that says it was deleted': (store, { webhook }) =>
    store.document('webhooks', [webhook], (held) => Object.assign(held, { deleted_at: '2026-11-01T00:00:00.000Z' })),
  'A deleted webhook': (store, { webhook }) => store.remove('webhooks', [webhook]),
  'A webhook that was never created': (store, { webhook }) =>
    store.copy('webhooks', [webhook], otherId(webhook), (held) => Object.assign(held, { id: otherId(webhook) })),
  'A second row with the document of a webhook': (store, { webhook }) =>
    store.copy('webhooks', [webhook], otherId(webhook), (held) => Object.assign(held, { events: null })),
  'The spending of a budget account': (store, { policy }) => store.member('accounts', [policy], { spent: '1' }),
}

/** Then the row differs, and the record that has no row. */
const RENAMING: ReadonlySet<string> = new Set([
  'A row of a decision that has another id',
  'A forged decision in place of a row that has another id',
  'A row of a key that has another id',
])

/** Another one that is as valid. */
function otherId(id: string): string {
  return `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`
}

interface TableRow {
  readonly edit: string
  readonly command: string
  /** Of the difference; null: the whole record. */
  readonly member: string | null
}

/** The rows of the table, as they stand on the page. */
function rowsOf(page: string): TableRow[] {
  const [, section = ''] = page.split('### Records\n')
  const [table = ''] = section.split(/\n##+ /)
  return table.split('\n').flatMap((line) => {
    const cells = line.startsWith('| ') ? line.split('|').map((cell) => cell.trim()) : []
    const [, edit = '', command = '', names = ''] = cells
    if (!command.startsWith('`')) return []
    return [{ edit, command: command.slice(1, -1), member: names.startsWith('`') ? names.slice(1, -1) : null }]
  })
}

const ROWS = rowsOf(readFileSync(PAGE, 'utf8'))

let server: RunningServer
let store: EditedStore
let made: MadeRecords
let jwks: string

beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  made = await makeRecords(server)
  store = editedStore(server.dataDir)
  jwks = join(newDirectory(), 'jwks.json')
  writeFileSync(jwks, JSON.stringify(await keySetOf(server)))
}, 120_000)
afterAll(async () => {
  await store.close()
  await endChildren()
  await server.stop()
  removeDirectories()
})

const verify = (args: readonly string[]) => runAudit(server, [...args, '--jwks', jwks])

const VERIFY = ['audit', 'verify', '--records']

describe('the table of records', () => {
  it('has a case for each row, and a row for each case', () => {
    expect(ROWS.map(({ edit }) => edit)).toEqual(Object.keys(EDITS))
    expect(new Set(ROWS.map(({ command }) => command))).toEqual(new Set([VERIFY.join(' ')]))
  })

  it('is of records that are in order as long as nobody edits them', async () => {
    expect(await verify(VERIFY)).toMatchObject({
      code: 0,
      found: { result: 'intact', not_bound: {}, not_added_up: [], removed: 0, not_compared: 0 },
    })
  })

  const forEach = ON_MONGODB ? stress.edits_for_each_on_mongodb : stress.edits_for_each
  const tried = ROWS.filter((_, i) => i % forEach === 0)
  it.each(tried)('$edit is found on a running server', async ({ edit, command, member }) => {
    await EDITS[edit]?.(store, made)
    try {
      const { code, found } = await verify(command.split(' '))
      expect(found).toMatchObject({ result: 'tampered' })
      expect(code).toBe(2)
      expect(new Set(found.record_differences.map(({ id }: RecordDifference) => id)).size).toBe(
        RENAMING.has(edit) ? 2 : 1,
      )
      const members: (string | null)[] = found.record_differences.map(({ member }: RecordDifference) => member)
      expect(members.filter((name) => name === member || name?.startsWith(`${member}.`))).not.toEqual([])
    } finally {
      await store.undo()
    }
  })

  it('is of records that are in order again when the edits are taken back', async () => {
    expect(await verify(VERIFY)).toMatchObject({ code: 0, found: { record_differences: [] } })
  })
})

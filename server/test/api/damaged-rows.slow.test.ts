/** Rows whose document is that of another record: nobody gets a right by them, and the operator is told. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { keySetOf } from '../audit-logs.js'
import { type MadeRecords, makeRecords, runAudit } from '../audited-records.js'
import { type EditedStore, editedStore } from '../edited-store.js'
import { databaseOf, ON_MONGODB } from '../open-test-store.js'
import { endChildren } from '../process/child.js'
import { countersign, newDirectory, removeDirectories } from '../process/shipped-server.js'
import { type RunningServer, runServer } from '../running-server.js'
import { mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { makeKey } from './refunds.js'

let server: RunningServer
let stop: () => Promise<void> = async () => {}
afterEach(async () => {
  await endChildren()
  await stop()
  removeDirectories()
})

async function begin(): Promise<MadeRecords> {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  stop = () => server.stop()
  return makeRecords(server)
}

const OTHER = { dec: 'dec_01kagx3v5ne8sr6w1y6gqk4t2h', key: 'key_01kagx3v5ne8sr6w1y6gqk4t2h' } as const
const OTHER_POLICY = 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'

async function run(args: readonly string[]) {
  const mongo = ON_MONGODB && { MONGODB_URL: mongoUrl(databaseOf(server.dataDir)) }
  const env = { COUNTERSIGN_BOOTSTRAP_KEY: server.key, PORT: '0', DATA_DIR: server.dataDir, ...mongo }
  const child = countersign(args, { env })
  const { code } = await child.end(60_000)
  return { code, said: child.stdout + child.stderr }
}

it('shows no decision of a row that has another id, neither in its place nor under its own', async () => {
  const { denied, confirmed } = await begin()
  const store = editedStore(server.dataDir)
  await store.rename('decisions', [denied], OTHER.dec)
  expect(await server.call('GET', `/v1/decisions/${denied}`)).toMatchObject({ status: 404 })
  for (const path of [`/v1/decisions/${OTHER.dec}`, '/v1/decisions?limit=200']) {
    const { status, body } = await server.call('GET', path)
    expect([status, body.code]).toEqual([503, 'store_unavailable'])
  }
  expect(JSON.stringify(server.logged.map(({ fields }) => String((fields as { err?: unknown }).err)))).toContain(
    `the row of decision ${OTHER.dec}`,
  )
  // Another one can still be read.
  expect(await server.call('GET', `/v1/decisions/${confirmed}`)).toMatchObject({ status: 200 })
  await store.close()
})

it('accepts a key no more whose row has another id, once its keys are read again', async () => {
  await begin()
  const { id, key } = await makeKey(server, ['decisions:read'])
  expect(await server.call('GET', '/v1/decisions', { key })).toMatchObject({ status: 200 })
  const store = editedStore(server.dataDir)
  await store.rename('keys', [id], OTHER.key)
  await store.close()
  await server.call('DELETE', `/v1/keys/${id}`)
  expect(await server.call('GET', '/v1/decisions', { key })).toMatchObject({ status: 401 })
  expect(await server.call('DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 404 })
})

const EDITS: Readonly<Record<string, (store: EditedStore, made: MadeRecords) => Promise<void>>> = {
  [`key ${OTHER.key}`]: (store, { key }) =>
    store.copy('keys', [key], OTHER.key, (held) => Object.assign(held, { scopes: ['*'] })),
  [`policy ${OTHER_POLICY}`]: (store, { policy }) =>
    store.copy('policies', [policy, 2], OTHER_POLICY, ({ document }) =>
      Object.assign(document.rules[0], { action: '*' }),
    ),
  'agent agent:suspended': (store, { agent, suspended }) =>
    store.document('agents', [suspended], (held) => Object.assign(held, { id: agent })),
}

it.each(Object.keys(EDITS))('starts no server while the row of %s is damaged, and says so', async (name) => {
  const made = await begin()
  const jwks = join(newDirectory(), 'jwks.json')
  writeFileSync(jwks, JSON.stringify(await keySetOf(server)))
  const said = `the row of ${name} contains a document whose id is`
  const { dataDir } = server
  const next = await server.restart({
    meanwhile: async () => {
      const store = editedStore(dataDir)
      await EDITS[name]?.(store, made)
      for (const command of ['serve', 'doctor']) {
        const told = await run([command])
        expect([told.code, told.said]).toEqual([1, expect.stringContaining(said)])
      }
      const { code, found } = await runAudit(server, ['audit', 'verify', '--records', '--offline', '--jwks', jwks])
      expect(found).toMatchObject({ result: 'tampered' })
      expect(found.record_differences).toMatchObject([
        { kind: name.split(' ')[0], id: name.split(' ')[1], member: 'id' },
      ])
      expect(code).toBe(2)
      await store.undo()
      await store.close()
    },
  })
  stop = () => next.stop()
})

/** A newer release upgrades the data while servers of this one are open. */
import { randomBytes } from 'node:crypto'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openMongoFeedStore } from '#server/stores/mongodb/open-feed'
import { KNOWN_SCHEMA } from '#server/stores/mongodb/schema'
import { call } from '../process/call.js'
import { runServer } from '../running-server.js'
import { createOf, decisionOf, idOf, LogPen } from '../store-suite/index.js'
import { batchOf } from '../store-suite/readers.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const name = `countersign-newer-${randomBytes(6).toString('hex')}`
const url = mongoUrl(name)
const client = new MongoClient(mongoUrl('admin'))
afterEach(() => dropDatabase(name))
afterAll(() => client.close())

const setSchema = (version: number) => setInSchema({ version })

async function setInSchema(members: object): Promise<void> {
  const schemas = client.db(name).collection<{ _id: string }>('meta')
  expect((await schemas.updateOne({ _id: 'schema' }, { $set: members })).modifiedCount).toBe(1)
}

/** Everything in the database, by collection. */
async function everything(): Promise<object> {
  const db = client.db(name)
  const names = (await db.listCollections().toArray()).map((one) => one.name).sort()
  return Object.fromEntries(
    await Promise.all(names.map(async (one) => [one, await db.collection(one).find().sort({ _id: 1 }).toArray()])),
  )
}

it.each([
  ['a newer release upgrades the data', KNOWN_SCHEMA + 1, 'Start the newer release, and stop this server.'],
  ['an older copy of the data is restored', KNOWN_SCHEMA - 1, 'Restart this server.'],
])('an open server answers 503 when %s, writes nothing more, and says what to do', async (_what, version, advice) => {
  const server = await runServer({ settings: { mongodbUrl: url }, parts: {} })
  const advised = new RegExp(`schema version ${version}, .*${advice}`)
  const said = () => server.logged.map(({ fields }) => String((fields as { err?: unknown }).err))
  const statusOf = async (method: string, path: string, body?: object) =>
    (await call(server.url, method, path, { key: server.key, body })).status
  const policy = { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] }
  const decision = { agent_id: 'agent:a', action: 'mail.send' }
  try {
    expect((await server.call('POST', '/v1/policies', { body: policy })).status).toBe(201)
    expect((await server.call('POST', '/v1/decisions', { body: decision })).status).toBe(200)
    await setSchema(version)
    expect(await statusOf('POST', '/v1/policies', { ...policy, name: 'other' })).toBe(503)
    await until('the server to say it', () => said().some((text) => advised.test(text)) || undefined)
    const before = await everything()
    for (const [method, path, body] of [
      ['POST', '/v1/decisions', decision],
      ['POST', '/v1/policies', { ...policy, name: 'third' }],
      ['POST', '/v1/keys', { name: 'k', scopes: ['audit:read'], agents: null }],
      ['GET', '/v1/decisions', undefined],
    ] as const)
      expect(await statusOf(method, path, body), path).toBe(503)
    expect(await statusOf('GET', '/readyz')).toBe(503)
    expect(await everything()).toEqual(before)
  } finally {
    await server.stop()
  }
})

it('the release that upgrades ends what open servers have under way, and they begin nothing again', async () => {
  const store = await openMongoStore({ url })
  const feed = await openMongoFeedStore({ url, nowMs: Date.now })
  const pen = await LogPen.of(store)
  const reader = await feed.readers.hold('reader', 'of the old', 60_000)
  expect(await pen.commit(createOf(decisionOf(1)))).toEqual({ written: 1, conflict: null })
  // It opens as the next release does: it finds an older schema.
  await setSchema(KNOWN_SCHEMA - 1)
  const next = await openMongoStore({ url })
  expect(await pen.commit(createOf(decisionOf(2)))).toEqual({ written: 0, conflict: 'log_index' })
  expect(await store.decisions.get(idOf('dec', 2))).toBeNull()
  expect(await feed.readers.save(batchOf({ name: 'reader', fence: reader?.fence ?? 0 }))).toBe(false)
  expect(await next.readers.hold('reader', 'of the new', 1000)).not.toBeNull()
  const nextPen = await LogPen.of(next)
  expect(await nextPen.commit(createOf(decisionOf(3)))).toEqual({ written: 1, conflict: null })
  await (await openMongoStore({ url })).close()
  expect(await nextPen.commit(createOf(decisionOf(4)))).toEqual({ written: 1, conflict: null })
  // The start that raised the version was killed in between.
  await setInSchema({ is_raised: true })
  await (await openMongoStore({ url })).close()
  expect(await nextPen.commit(createOf(decisionOf(5)))).toEqual({ written: 0, conflict: 'log_index' })

  await setSchema(KNOWN_SCHEMA + 1)
  await expect(store.openLog()).rejects.toThrow('Start the newer release')
  await expect(feed.readers.hold('another', 'of the old', 1000)).rejects.toThrow('Start the newer release')
  await expect(store.decisions.get(idOf('dec', 1))).rejects.toThrow(StoreUnavailableError)
  await Promise.all([store, feed, next].map((one) => one.close()))
})

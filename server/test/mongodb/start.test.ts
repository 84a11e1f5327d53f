/** How the server starts on a MongoDB: what it refuses, what it tells then, and how long it waits. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NewerSchemaError } from '#server/ports/store/errors'
import { openMongoStore } from '#server/stores/mongodb/open'
import { call } from '../process/call.js'
import { endChildren } from '../process/child.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from '../process/shipped-server.js'
import { relayTo } from '../stores/mongodb/holding-relay.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { openRelay } from '../stores/mongodb/relay.js'
import { relayBuildInfo } from '../stores/mongodb/relay-build-info.js'

let name: string
let url: string
const client = new MongoClient(mongoUrl('admin'))
beforeEach(() => {
  name = `countersign-start-${randomBytes(6).toString('hex')}`
  url = mongoUrl(name)
})
afterEach(async () => {
  await endChildren()
  removeDirectories()
  await dropDatabase(name)
})
afterAll(() => client.close())

const collections = async () => (await client.db(name).listCollections().toArray()).map((one) => one.name).sort()
const schemaOf = () => client.db(name).collection<{ _id: string; version: number }>('meta').findOne({ _id: 'schema' })

async function writeSchema(version: number): Promise<void> {
  const meta = client.db(name).collection<{ _id: string }>('meta')
  await meta.updateOne({ _id: 'schema' }, { $set: { version } }, { upsert: true })
}

/** What a start that is refused tells. */
async function refused(env: Record<string, string> = {}) {
  const child = countersign(['serve'], { env: { PORT: '0', DATA_DIR: newDirectory(), MONGODB_URL: url, ...env } })
  const { code } = await child.end()
  expect(child.stdout).toBe('')
  return { code, message: JSON.parse(child.stderr).msg as string }
}

async function doctor(mongodbUrl = url): Promise<string> {
  const child = countersign(['doctor'], { env: { PORT: '0', DATA_DIR: newDirectory(), MONGODB_URL: mongodbUrl } })
  await child.end()
  return /^\w+ +store +(.*)$/m.exec(child.stdout)?.[1] ?? child.stdout
}

it('says what to do when MongoDB is not a replica set, and serves: no promise but that of several disks rests on it', async () => {
  const { setName } = await client
    .db('admin')
    .command({ hello: 1 })
    .catch(() => ({ setName: undefined }))
  const server = await ShippedServer.start({ dataDir: newDirectory(), env: { MONGODB_URL: url } })
  const said = server.lines.filter(
    ({ level, msg }) => level === 'warn' && /Make it a replica set: rs\.initiate\(\)/.test(String(msg)),
  )
  expect(said).toHaveLength(setName === undefined ? 1 : 0)
  expect(await doctor()).toContain(setName === undefined ? 'is not a replica set' : 'answers')
})

it('FerretDB is refused, and left as it is: budgets count wrong there', async () => {
  const relay = await relayBuildInfo(url, (found) => ({ ...found, ferretdbVersion: 'v1.24.2' }))
  const { code, message } = await refused({ MONGODB_URL: relay.url })
  expect(code).toBe(1)
  expect(message).toMatch(/is FerretDB\. .* budgets count wrong\. Use a MongoDB, or unset MONGODB_URL/)
  expect(await doctor(relay.url)).toMatch(/is FerretDB\. .* Fix: use a MongoDB/)
  expect(await collections()).toEqual([])
  await relay.close()
})

describe('the schema version', () => {
  it('is written by the first start, and stays', async () => {
    expect(await doctor()).toContain('unused')
    await (await ShippedServer.start({ dataDir: newDirectory(), env: { MONGODB_URL: url } })).stop()
    expect(await schemaOf()).toEqual({ _id: 'schema', version: 5 })
    expect(await doctor()).toContain('schema version 5')
  })

  it('of a newer release is refused, as the embedded store does, and nothing is touched', async () => {
    await writeSchema(99)
    const { code, message } = await refused()
    expect(code).toBe(1)
    expect(message).toMatch(
      /schema version 99, but this release supports versions up to 5\. Start the release .* newer release\./,
    )
    expect(message).toContain(name)
    expect(await collections()).toEqual(['meta'])
    expect(await schemaOf()).toEqual({ _id: 'schema', version: 99 })
    await expect(openMongoStore({ url })).rejects.toThrow(NewerSchemaError)
    expect(await doctor()).toMatch(/schema version 99.* Fix: start the release that wrote it/)
  })

  it('is refused, too, when a newer release starts at the same moment', async () => {
    const relay = await relayTo(url, { before: 'createIndexes', run: () => writeSchema(6) })
    await expect(openMongoStore({ url: relay.url })).rejects.toThrow(NewerSchemaError)
    relay.close()
    expect(await schemaOf()).toEqual({ _id: 'schema', version: 6 })
  })
})

it('an index may take longer to be built than any other answer is waited for', async () => {
  const relay = await relayTo(url, {
    before: 'createIndexes',
    run: () => new Promise((end) => setTimeout(end, 6500)),
  })
  await (await openMongoStore({ url: relay.url })).close()
  relay.close()
  expect(await collections()).toContain('decisions')
})

describe('a server whose MongoDB does not answer its first write', () => {
  /** Starts it on a store that is away from the first write on. */
  async function startStarved() {
    let isAway = false
    const relay = await openRelay(url, ({ collection }) => {
      if (collection === 'logs' && !isAway) {
        isAway = true
        relay.hold()
      }
      return 'passes'
    })
    const dataDir = newDirectory()
    const child = countersign(['serve'], { env: { PORT: '0', DATA_DIR: dataDir, MONGODB_URL: relay.url } })
    await until('the first write', () => isAway || undefined)
    return { relay, dataDir, child }
  }

  it('waits and says so, and becomes ready when MongoDB answers', async () => {
    const { relay, dataDir, child } = await startStarved()
    // Longer than the store tries a write, and than any caller waits.
    const [, said = ''] = await child.says(
      /"msg":"(the server is not ready yet: [^"]*for (?:[6-9]|\d\d) s so far[^"]*)/,
    )
    expect(said).toMatch(/it waits for the first write to the store, .* Check that MongoDB runs, its load and its disk/)
    relay.revive()
    const [, ready = ''] = await child.says(/"url":"([^"]+)".*\n/)
    const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
    const keys = await call(ready, 'GET', '/v1/keys', { key })
    expect(keys.body.data.map(({ name: named }: { name: string }) => named)).toEqual(['bootstrap'])
    const { body: entries } = await call(ready, 'GET', '/v1/audit?type=signing_key.created', { key })
    const subjects = entries.data.map(({ subject }: { subject: string }) => subject)
    expect(subjects.length).toBeGreaterThan(0)
    expect(new Set(subjects).size).toBe(subjects.length)
    child.signal('SIGTERM')
    expect(await child.end()).toEqual({ code: 0, signal: null })
    expect(child.stderr).toBe('')
    await relay.close()
  })

  it('ends well when it is stopped while it waits', async () => {
    const { relay, dataDir, child } = await startStarved()
    child.signal('SIGTERM')
    expect(await child.end()).toEqual({ code: 0, signal: null })
    expect(child.stderr).toBe('')
    relay.revive()
    await relay.close()
    const next = await ShippedServer.start({ dataDir, env: { MONGODB_URL: url } })
    expect(await next.stop()).toEqual({ code: 0, signal: null })
  })
})

it('a server that is stopped while its store is away leaves what it cannot do, and ends well', async () => {
  const relay = await openRelay(url, () => 'passes')
  const server = await ShippedServer.start({ dataDir: newDirectory(), env: { MONGODB_URL: relay.url } })
  relay.hold()
  const self = (key?: string) => server.call('GET', '/v1/keys/self', key === undefined ? {} : { key })
  const { body } = await until('it to be stale', async () => {
    const answer = await self()
    return answer.status === 503 ? answer : undefined
  })
  expect(body.code).toBe('replica_stale')
  expect((await self('no-key-at-all')).body.code).toBe('unauthorized')
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  expect(server.lines.at(-1)).toMatchObject({
    level: 'warn',
    msg: expect.stringContaining('the store was unavailable'),
  })
  relay.revive()
  await relay.close()
  const next = await ShippedServer.start({ dataDir: newDirectory(), env: { MONGODB_URL: url } })
  expect(await next.stop()).toEqual({ code: 0, signal: null })
})

/** Every command waits for a majority and the journal, whatever the URL says: what a server then makes of it is its promise. */
import { randomBytes } from 'node:crypto'
import { seededRandom } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { openRelay } from './relay.js'
import { Cuts } from './relay-cuts.js'
import { EVERY_WRITE, makeEveryWrite } from './relay-every-write.js'

const NAME = `countersign-concern-${randomBytes(6).toString('hex')}`
afterEach(() => dropDatabase(NAME))

/** What somebody may have in a URL for other uses of the same MongoDB. */
const WEAK = { w: '1', journal: 'false', readConcernLevel: 'local', readPreference: 'nearest', retryWrites: 'false' }

function weakUrl(): string {
  const url = new URL(mongoUrl(NAME).replace(/^mongodb/, 'http'))
  for (const [name, value] of Object.entries(WEAK)) url.searchParams.set(name, value)
  return url.href.replace(/^http/, 'mongodb')
}

it('each kind of write asks for a majority and its journal, each read for what a majority has', async () => {
  const cuts = new Cuts(seededRandom(1))
  cuts.isFaulty = false
  await makeEveryWrite(cuts, weakUrl())
  expect([...cuts.writes.keys()].sort()).toEqual(EVERY_WRITE)
  expect(cuts.reads.sent).toBeGreaterThan(0)
  expect([...cuts.weak]).toEqual([])
})

it('writes are made again by the driver where the server can tell that they are the same', async () => {
  const database = await Database.open(weakUrl())
  const { db, readPreference } = database.decisions
  expect(db.client.options).toMatchObject({ retryWrites: true, retryReads: true })
  expect(readPreference?.mode).toBe('primary')
  await database.close()
})

it('a command that asks for less is noticed', async () => {
  const cuts = new Cuts(seededRandom(1))
  cuts.isFaulty = false
  const relay = await openRelay(mongoUrl(NAME), cuts.fateOf)
  const client = new MongoClient(relay.url, { writeConcern: { w: 'majority' } })
  const things = client.db(NAME).collection('things')
  await things.insertOne({})
  await things.findOne({})
  await client.close()
  await relay.close()
  expect([...cuts.weak]).toEqual(['insert things {"writeConcern":{"w":"majority"}}', 'find things {}'])
})

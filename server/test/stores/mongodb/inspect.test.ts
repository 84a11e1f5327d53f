/** What `countersign doctor` sees of a MongoDB. */

import { MongoClient } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { inspectMongoStore } from '#server/stores/mongodb/inspect'
import { openMongoStore } from '#server/stores/mongodb/open'
import { createOf, decisionOf, instant, LogPen } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-inspect-${process.pid}`
const client = new MongoClient(mongoUrl(NAME))

afterAll(async () => {
  await client.close()
  await dropDatabase(NAME)
})

it('sees the newest entry, whether it is a replica set, and leaves nothing behind', async () => {
  const empty = await inspectMongoStore(mongoUrl(NAME))
  expect(empty).toMatchObject({ newestEntryAt: null })
  expect(await client.db(NAME).listCollections().toArray()).toEqual([])
  const { setName } = await client.db('admin').command({ isMaster: 1 })
  expect(empty).toMatchObject({ isReplicated: setName !== undefined, version: expect.stringMatching(/^\d+\.\d/) })

  const store = await openMongoStore({ url: mongoUrl(NAME) })
  const pen = await LogPen.of(store)
  await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2)))
  const [newest] = (await store.audit.list({}, { limit: 1, after: null })).items
  await store.close()
  expect(await inspectMongoStore(mongoUrl(NAME))).toMatchObject({ newestEntryAt: Date.parse(newest?.at ?? instant(0)) })
})

/** Deliveries of before schema version 5 have no subject, by which an erasure would find them. */

import { MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { createOf, decisionOf, deliveryOf, eraseOf, idOf, instant, LogPen } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-upgraded-${process.pid}`
const url = () => mongoUrl(NAME)
afterEach(() => dropDatabase(NAME))

const ATTEMPT = { at: instant(9), status: 200, error: null, response: 'its answer', duration_ms: 1.5 }
const ERASED = { ...ATTEMPT, response: null }

it('are found by it after the start, and have no answer of a request that was erased before; a damaged one stays', async () => {
  const store = await openMongoStore({ url: url() })
  const pen = await LogPen.of(store)
  await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2)))
  await pen.commit(eraseOf(decisionOf(1)))
  const deliveries = [1, 2, 3].map((number) => deliveryOf(number, { attempts: [ATTEMPT, ATTEMPT] }))
  for (const delivery of deliveries) await store.deliveries.add(delivery)
  await store.close()
  const client = new MongoClient(url())
  const db = client.db(NAME)
  const stored = db.collection<{ _id: string }>('deliveries')
  await stored.updateMany({}, { $unset: { subject: 1 } })
  const damaged = { document: JSON.stringify({ ...deliveries[2], id: idOf('dlv', 4) }) }
  await stored.updateOne({ _id: idOf('dlv', 3) }, { $set: damaged })
  await db.collection<{ _id: string }>('meta').updateOne({ _id: 'schema' }, { $set: { version: 4 } })
  const again = await openMongoStore({ url: url() })
  expect(await db.collection('meta').findOne()).toEqual({ _id: 'schema', version: 5 })
  expect(await stored.findOne({ _id: idOf('dlv', 3) })).toMatchObject(damaged)
  await client.close()
  expect((await again.deliveries.get(idOf('dlv', 1)))?.attempts).toEqual([ERASED, ERASED])
  expect(await again.deliveries.get(idOf('dlv', 2))).toEqual(deliveries[1])
  await (await LogPen.of(again)).commit(eraseOf(decisionOf(2)))
  expect((await again.deliveries.get(idOf('dlv', 2)))?.attempts).toEqual([ERASED, ERASED])
  await again.close()
})

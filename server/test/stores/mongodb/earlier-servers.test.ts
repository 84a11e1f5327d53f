/** While servers are replaced one after another, those of an earlier release read the same database. */

import { MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { agentOf, instant, LogPen, writeAgentOf } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-earlier-${process.pid}`
afterEach(() => dropDatabase(NAME))

it('a server that loads only agents with is_held gets each that this release suspends, and loses none that it has', async () => {
  const store = await openMongoStore({ url: mongoUrl(NAME) })
  const client = new MongoClient(mongoUrl(NAME))
  const held = async () =>
    (await client.db(NAME).collection('agents').find({ is_held: true }).sort({ _id: 1 }).toArray()).map(
      ({ _id }) => _id,
    )
  const pen = await LogPen.of(store)
  const suspended = { at: instant(5), by: 'key_1', reason: null }
  await pen.commit(
    writeAgentOf(agentOf('agent:new', { suspended })),
    writeAgentOf(agentOf('agent:known', { registration: null })),
  )
  expect(await held()).toEqual(['agent:new'])
  await pen.commit(writeAgentOf(agentOf('agent:known', { version: 2, registration: null, suspended })))
  expect(await held()).toEqual(['agent:known', 'agent:new'])
  await pen.commit(writeAgentOf(agentOf('agent:known', { version: 3, registration: null })))
  expect(await held()).toEqual(['agent:new'])
  await client.close()
  await store.close()
})

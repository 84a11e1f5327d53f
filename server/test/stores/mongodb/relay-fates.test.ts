/** What the relay makes of a command is what befalls it. */
import { randomBytes } from 'node:crypto'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { type Fate, openRelay, type Relay } from './relay.js'

const NAME = `countersign-fates-${randomBytes(6).toString('hex')}`
const relays: Relay[] = []
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close()
  await dropDatabase(NAME)
})

/** Whether one insert was answered, and whether it came through. */
async function insertWith(fate: Fate): Promise<{ isAnswered: boolean; count: () => Promise<number> }> {
  const relay = await openRelay(mongoUrl(NAME), ({ name }) => (name === 'insert' ? fate : 'passes'))
  relays.push(relay)
  const client = new MongoClient(relay.hurriedUrl, { retryWrites: false })
  const things = client.db(NAME).collection<{ _id: string }>(fate.replace(' ', '_'))
  const isAnswered = await things.insertOne({ _id: 'one' }).then(
    () => true,
    () => false,
  )
  await client.close()
  return {
    isAnswered,
    async count() {
      const direct = new MongoClient(mongoUrl(NAME))
      const count = await direct.db(NAME).collection(things.collectionName).countDocuments()
      await direct.close()
      return count
    },
  }
}

it.each([
  ['passes', true, 1],
  ['delayed', true, 1],
  ['answer cut', false, 1],
  ['lost', false, 0],
] as const)('%s', async (fate, expected, expectedCount) => {
  const { isAnswered, count } = await insertWith(fate)
  expect(isAnswered).toBe(expected)
  expect(await count()).toBe(expectedCount)
})

it('late', async () => {
  const { isAnswered, count } = await insertWith('late')
  expect(isAnswered).toBe(false)
  await until('it to come through', async () => ((await count()) === 1 ? true : undefined))
})

/** Why docs/storage.md says not to use FerretDB: once this fails, a release of it may be able to hold a store. */
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Ferretdb } from './ferretdb.js'

const DOCUMENTS = 20
const CALLERS = 10

let ferretdb: Ferretdb
let client: MongoClient
beforeAll(async () => {
  ferretdb = await Ferretdb.start()
  client = await MongoClient.connect(ferretdb.url)
})
afterAll(async () => {
  await client.close()
  await ferretdb.end()
})

it('applies conditional updates of one document more than once', async () => {
  const documents = client.db('races').collection<{ _id: number; v: number }>('documents')
  let applied = 0
  for (let _id = 0; _id < DOCUMENTS; _id += 1) {
    await documents.insertOne({ _id, v: 0 })
    const callers = Array.from({ length: CALLERS }, () => documents.updateOne({ _id, v: 0 }, { $set: { v: 1 } }))
    applied += (await Promise.all(callers)).reduce((sum, { modifiedCount }) => sum + modifiedCount, 0)
  }
  console.log(`${applied} conditional updates succeeded, where a MongoDB lets ${DOCUMENTS} succeed`)
  expect(applied).toBeGreaterThan(DOCUMENTS)
})

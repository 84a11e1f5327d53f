/** Why a server does not start on FerretDB: once the first case fails, a release of it may be able to hold a store. */
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { endChildren } from '../process/child.js'
import { countersign, newDirectory, removeDirectories } from '../process/shipped-server.js'
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
  await endChildren()
  removeDirectories()
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

it('is refused by a server, and left as it is', async () => {
  const env = { PORT: '0', DATA_DIR: newDirectory(), MONGODB_URL: `${ferretdb.url}refused` }
  const child = countersign(['serve'], { env })
  expect(await child.end()).toEqual({ code: 1, signal: null })
  expect(JSON.parse(child.stderr).msg).toContain('is FerretDB. Countersign does not run on FerretDB')
  expect((await client.db('refused').collections()).length).toBe(0)
})

import { cpus } from 'node:os'
import { MongoClient } from 'mongodb'
import { mongodbForTests } from '../../scripts/mongodb-for-tests.mjs'

/** A database for one run of a bench, on the server that the tests would take. */
export async function benchDatabase() {
  const url = new URL((await mongodbForTests()).replace(/^mongodb/, 'http'))
  url.pathname = `/countersign-bench-${process.pid}`
  const address = url.href.replace(/^http/, 'mongodb')
  const client = new MongoClient(address)
  const { version } = await client.db().command({ buildInfo: 1 })
  const { setName } = await client.db('admin').command({ isMaster: 1 })
  const kind = setName === undefined ? 'one node in memory' : `replica set ${setName}`
  console.log(`MongoDB ${version} (${kind}); ${cpus().length} CPUs for it, the servers and the callers together\n`)
  return {
    url: address,
    async drop() {
      await client.db().dropDatabase()
      await client.close()
    },
  }
}

/** A start that is refused, and `doctor`, change nothing of a MongoDB, nor of the data directory. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BSON, MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { countersign, newDirectory } from '../process/shipped-server.js'
import { ISSUER, newDatabase, removeReplicas, startReplica } from './replicas/replicas.js'

afterEach(removeReplicas)

/** All that is there, by the names of collections and files. */
async function everythingIn(url: string, dataDir: string): Promise<Record<string, string>> {
  const client = new MongoClient(url)
  const db = client.db()
  const names = (await db.listCollections().toArray()).map(({ name }) => name).sort()
  const found: Record<string, string> = {}
  for (const name of names)
    found[name] = BSON.EJSON.stringify(await db.collection(name).find().sort({ _id: 1 }).toArray())
  await client.close()
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name)
    if (name.includes('.')) found[name] = readFileSync(path, 'utf8')
  }
  return found
}

it('a server that lacks what its keys remember leaves everything as it is', async () => {
  const [url, dataDir] = [newDatabase(), newDirectory()]
  const server = await startReplica({ url, dataDir })
  await server.stop()
  const file = join(dataDir, 'signing-keys.json')
  const keys = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...keys, newest_entry: { ...keys.newest_entry, index: 1_000_000 } }))
  const before = await everythingIn(url, dataDir)
  const env = { MONGODB_URL: url, DATA_DIR: dataDir, ISSUER, PORT: '0' }
  for (const args of [['serve'], ['doctor', '--deep']]) {
    const child = countersign(args, { env })
    const { code } = await child.end(60_000)
    if (args[0] === 'serve')
      expect([code, child.stdout + child.stderr]).toEqual([1, expect.stringContaining('lacks entry 1000000')])
    expect(await everythingIn(url, dataDir)).toEqual(before)
  }
})

/** kill -9 of the PostgreSQL under FerretDB: what was acknowledged is on its disk, and the log and the records say the same. */
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { expectWholeOutcome } from '../mongodb/replicas/outcome.js'
import { ReplicaLoad, tally } from '../mongodb/replicas/replica-load.js'
import { POLICY, startReplica, writeSharedPolicy } from '../mongodb/replicas/replicas.js'
import { endChildren } from '../process/child.js'
import { CHOSEN_KEY, countersign, removeDirectories, type ShippedServer } from '../process/shipped-server.js'
import { Ferretdb } from './ferretdb.js'

/** FerretDB does not apply a conditional update atomically: docs/storage.md. */
const CALLERS = 1
/** A killed process of the feed holds the checkpoints for a while. */
const VERIFIED_MS = 60_000

/** After a kill, PostgreSQL reads its log, and the server takes a log of its own. */
const DECIDED_MS = 90_000

let ferretdb: Ferretdb
beforeAll(async () => {
  ferretdb = await Ferretdb.start()
})
afterEach(async () => {
  await endChildren()
  removeDirectories()
})
afterAll(() => ferretdb.end())

it(`a server under load, whose PostgreSQL is killed ${stress.database_kills} times`, {
  timeout: stress.database_kills * 120_000 + 120_000,
}, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = ferretdb.disguisedUrl('countersign')
  const server = await startReplica({ url })
  await writeSharedPolicy([server], POLICY)
  const load = new ReplicaLoad(random, () => server)
  const running = load.run(CALLERS)
  for (let kill = 0; kill < stress.database_kills; kill += 1) {
    const enough = load.acknowledged.size + 5 + Math.floor(random() * 10)
    await until(`${enough} decisions`, () => (load.acknowledged.size >= enough ? true : undefined), DECIDED_MS)
    await ferretdb.killPostgres()
    await ferretdb.startPostgres()
  }
  load.stop()
  await running
  console.log(`${load.seen.length} answers: ${tally(load.seen)}`)
  console.log(await expectWholeOutcome(url, server, load))
  await expectVerified(server)
})

async function expectVerified(server: ShippedServer): Promise<void> {
  const jwks = `${server.url}/.well-known/jwks.json`
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: CHOSEN_KEY }
  await until(
    'records that verify',
    async () => {
      const verify = countersign(['audit', 'verify', '--records', '--jwks', jwks, '--url', server.url], { env })
      const { code } = await verify.end()
      return code === 0 || undefined
    },
    VERIFIED_MS,
  )
  expect(server.ending).toBeUndefined()
}

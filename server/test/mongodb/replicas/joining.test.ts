/** A server that joins others has a signing key of its own, which verifiers that read the key set before do not know. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type RunningServer, runServer, TestClock } from '../../running-server.js'
import { done, ISSUER, newDatabase, removeReplicas, startReplica } from './replicas.js'

/** How soon a server that has started is ready. */
const PROMISED_MS = 3000

let url: string
let clock: TestClock
const running: RunningServer[] = []
const directories: string[] = []
beforeEach(() => {
  url = newDatabase()
  clock = new TestClock()
})
afterEach(async () => {
  for (const server of running.splice(0)) await server.started.stop(0)
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true })
  await removeReplicas()
})

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-joining-'))
  directories.push(directory)
  return directory
}

async function run(dataDir: string): Promise<RunningServer> {
  const server = await runServer({ dataDir, clock, settings: { mongodbUrl: url, issuer: ISSUER } })
  running.push(server)
  return server
}

const keySet = async (server: RunningServer) =>
  (await server.call('GET', '/.well-known/jwks.json', { key: null })).body as { keys: { kid: string }[] }
const readiness = async (server: RunningServer) => (await server.call('GET', '/readyz', { key: null })).body

it('is ready when all know its key, and at once when it comes back with one that they know', async () => {
  // There is nobody who could have read a key set without this one's key.
  const first = await run(await newDirectory())
  expect(await readiness(first)).toEqual({ status: 'ready' })
  await first.started.stop(0)

  const directory = await newDirectory()
  const alone = await run(directory)
  expect(await readiness(alone)).toEqual({ status: 'ready' })
  await keySet(alone)
  const joined = await run(await newDirectory())
  expect(await readiness(joined)).toEqual({
    status: 'not ready',
    detail: 'some verifiers may not know the signing key of this server yet',
  })
  clock.advance(64_999)
  expect((await readiness(joined)).status).toBe('not ready')
  clock.advance(1)
  expect(await readiness(joined)).toEqual({ status: 'ready' })

  await alone.started.stop(0)
  expect(await readiness(await run(directory))).toEqual({ status: 'ready' })
})

it('is ready at once where nobody has read a key set, and in the first one that is read', async () => {
  const servers = [await run(await newDirectory()), await run(await newDirectory()), await run(await newDirectory())]
  for (const server of servers) expect(await readiness(server)).toEqual({ status: 'ready' })
  // Before the servers have looked for what others changed.
  const sets = await Promise.all(servers.map(keySet))
  // Each has a key that signs and the next one.
  for (const { keys } of sets) expect(keys).toHaveLength(6)
})

it('is ready as soon as it has started again, though it was killed within seconds of its first start', async () => {
  const dataDir = await newDirectory()
  const killed = await startReplica({ url, dataDir })
  await done(killed.call('GET', '/.well-known/jwks.json'))
  killed.signal('SIGKILL')
  await killed.end()
  const again = await startReplica({ url, dataDir })
  await until(
    'it to be ready',
    async () => ((await again.call('GET', '/readyz')).status === 200 ? true : undefined),
    3 * PROMISED_MS,
  )
  // One that was not there when the set was read waits all the same.
  const other = await startReplica({ url })
  expect((await other.call('GET', '/readyz')).body.status).toBe('not ready')
})

it('is ready as soon as it has started, when three new ones start on an empty database at the same moment', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => startReplica({ url })))
  const started = performance.now()
  for (const server of servers)
    await until(
      'it to be ready',
      async () => ((await server.call('GET', '/readyz')).status === 200 ? true : undefined),
      3 * PROMISED_MS,
    )
  console.log(`all were ready ${(performance.now() - started).toFixed(0)} ms after the last had started`)
})

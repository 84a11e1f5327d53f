/** A server that joins others has a signing key of its own, which verifiers that read the key set before do not know. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type RunningServer, runServer, TestClock } from '../../running-server.js'
import { ISSUER, newDatabase, removeReplicas } from './replicas.js'

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

const readiness = async (server: RunningServer) => (await server.call('GET', '/readyz', { key: null })).body

it('is ready when all know its key, and at once when it comes back with one that they know', async () => {
  // There is nobody who could have read a key set without this one's key.
  const first = await run(await newDirectory())
  expect(await readiness(first)).toEqual({ status: 'ready' })
  await first.started.stop(0)

  const directory = await newDirectory()
  const alone = await run(directory)
  expect(await readiness(alone)).toEqual({ status: 'ready' })
  const joined = await run(await newDirectory())
  expect(await readiness(joined)).toEqual({
    status: 'not ready',
    detail: 'not every verifier knows the signing key of this server yet',
  })
  clock.advance(64_999)
  expect((await readiness(joined)).status).toBe('not ready')
  clock.advance(1)
  expect(await readiness(joined)).toEqual({ status: 'ready' })

  await alone.started.stop(0)
  expect(await readiness(await run(directory))).toEqual({ status: 'ready' })
})

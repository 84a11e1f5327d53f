/** Whatever comes between a change of the signing keys and its audit entry, the entry is written in the end, and once. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findKeyring, type Keyring } from '#server/adapters/keyring/keyring'
import { type RunningServer, runServer } from './running-server.js'
import { openStoreWith } from './store-with.js'

let server: RunningServer
beforeEach(async () => {
  server = await runServer()
})
afterEach(() => server.stop())

/** The keys as a command opens them that ends before it has recorded anything. */
const keysOfCommand = async () => (await findKeyring({ dataDir: server.dataDir, clock: server.clock })) as Keyring

async function told(): Promise<string[]> {
  const { body } = await server.call('GET', '/v1/audit?limit=100')
  const ours = body.data.filter(({ type }: { type: string }) => type.startsWith('signing_key.'))
  return ours.map(({ type, subject, at }: Record<string, string>) => `${type} ${subject} ${at}`).sort()
}

const happenedTo = (keys: Keyring) =>
  keys
    .history()
    .map(({ type, kid, at }) => `${type} ${kid} ${at}`)
    .sort()

it('a change that was made at rest and not recorded is recorded at the next start', async () => {
  await server.started.stop(0)
  const keys = await keysOfCommand()
  await keys.rotate()
  server.clock.advance(1000)
  const [retiring] = keys.list().filter(({ state }) => state === 'retiring')
  await keys.revoke(retiring?.kid ?? '')
  server = await server.restart()
  expect(await told()).toEqual(happenedTo(keys))
  expect(await told()).toHaveLength(5)
  server = await server.restart()
  expect(await told()).toEqual(happenedTo(keys))
})

it('a change that came just before the stop is recorded at the next start', async () => {
  const keys = await keysOfCommand()
  await keys.rotate()
  server = await server.restart()
  expect(await told()).toEqual(happenedTo(keys))
})

it('a change that the store could not write is recorded when it can again, the failure told once', async () => {
  let failures = 0
  let isBroken = false
  const openStore = (dataDir: string) =>
    openStoreWith(dataDir, (store) => ({
      async commit(records) {
        const result = await store.commit(records)
        if (!isBroken) return result
        failures += 1
        throw new Error('broken after it was written')
      },
    }))
  server = await server.restart({ parts: { openStore } })
  isBroken = true
  const keys = await keysOfCommand()
  await keys.rotate()
  await until('two failures', () => failures >= 2 || undefined)
  isBroken = false
  await until('the entries', async () => (await told()).length === 4 || undefined)
  expect(await told()).toEqual(happenedTo(keys))
  expect(server.logged.map(({ message }) => message).filter((message) => /signing keys/.test(message))).toHaveLength(1)
})

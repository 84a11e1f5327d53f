/** Where the server has change streams, another process sees a change at once, and not at its next look. */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { Child, endChildren } from '../process/child.js'
import { type RunningServer, runServer } from '../running-server.js'
import {
  agentOf,
  createOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  reviewOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
} from '../store-suite/index.js'
import type { MongoStore } from '../stores/mongodb/inside.js'
import { mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const WIRE = fileURLToPath(new URL('../../../tools/mongodb-wire/start', import.meta.url))
const NAME = `countersign-signals-${randomBytes(6).toString('hex')}`

let url: string
beforeAll(async () => {
  url = (await hasStreams(mongoUrl(NAME))) ? mongoUrl(NAME) : await startWithStreams()
})
afterAll(endChildren)

const stores: MongoStore[] = []
const servers: RunningServer[] = []
afterEach(async () => {
  vi.useRealTimers()
  await Promise.all([...stores.splice(0).map((store) => store.close()), ...servers.splice(0).map((one) => one.stop())])
  const client = new MongoClient(url)
  await client.db(NAME).dropDatabase()
  await client.close()
})

async function hasStreams(at: string): Promise<boolean> {
  const client = new MongoClient(at)
  const stream = client.db().collection('signals').watch()
  try {
    await stream.tryNext()
    return true
  } catch {
    return false
  } finally {
    await stream.close()
    await client.close()
  }
}

/** A test server of its own: it keeps all that was ever written. */
async function startWithStreams(): Promise<string> {
  const server = new Child(WIRE, ['0', '--oplog'], { stdin: 'pipe' })
  const [line] = await until('the URL', () => server.stdout.match(/^mongodb:.*$/m) ?? undefined)
  const at = new URL(line.replace(/^mongodb/, 'http'))
  at.pathname = `/${NAME}`
  return at.href.replace(/^http/, 'mongodb')
}

async function openStore(): Promise<MongoStore> {
  const store = await openMongoStore({ url })
  stores.push(store)
  return store
}

/** How often any process has said that something has changed. */
async function sent(): Promise<number> {
  const client = new MongoClient(url)
  const found = await client.db().collection('signals').findOne()
  await client.close()
  return found?.count
}

const KEY = { kid: 'kid-1', x: 'x', published_until: instant(1000), revoked_at: null }

it('a store is told of what all processes keep in memory, and of nothing else', async () => {
  const [writes, listens] = [await openStore(), await openStore()]
  const pen = await LogPen.of(writes)
  let signals = 0
  const stop = listens.replicas.listen(() => signals++)
  // It takes a moment to be there: a signal that it missed is not sent again.
  await until('the first', async () => {
    await writes.replicas.publishSigningKeys([KEY], instant(0))
    return signals > 0 ? true : undefined
  })
  const heard = signals
  await pen.commit(writePolicyOf(policyOf(1, 1)))
  await until('another', () => (signals > heard ? true : undefined))
  await stop()

  const before = await sent()
  await pen.commit(createOf(reviewOf(1)))
  await pen.commit(writeKeyOf(keyOf(1)))
  await pen.commit(writeAgentOf(agentOf('agent:1')))
  await writes.close()
  expect((await sent()) - before).toBe(2)
})

it('a server takes over what another one changed without a look of its own', async () => {
  const settings = { mongodbUrl: url, issuer: 'https://decisions.example' }
  const changes = await runServer({ settings })
  servers.push(changes)
  // Nothing is done again and again from here on, looks neither.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const sees = await runServer({ settings })
  servers.push(sees)
  vi.useRealTimers()
  const rules = [{ action: 'a', effect: 'allow' }]
  let number = 0
  await until('what was changed meanwhile', async () => {
    const { status, body } = await changes.call('POST', '/v1/policies', { body: { name: `p${number++}`, rules } })
    expect(status).toBe(201)
    return until(
      'it',
      async () => ((await sees.call('GET', `/v1/policies/${body.id}`)).status === 200 ? true : undefined),
      300,
    ).catch(() => undefined)
  })
})

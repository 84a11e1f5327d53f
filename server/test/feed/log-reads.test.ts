/** The feed gets the entries of its own server from memory: it reads none of them from the store. */
import { parseCheckpoint, parseNote } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { FastClock } from '../api/fast-clock.js'
import { allowing, createPolicy, decide, everyItem, succeed } from '../api/refunds.js'
import { openTestStore } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import { withCalls } from '../with-calls.js'
import { type Receiver, startReceiver } from './webhooks/receiver.js'

const NO_ANSWER = new StoreUnavailableError('No answer came.')
const noAnswer = () => Promise.reject(NO_ANSWER)

let server: RunningServer
let receiver: Receiver
/** How many entries the feed has read from the log: single ones are looked at, to see whether they are still there. */
let readEntries: number
let commitEnds: 'as it should' | 'unwritten' | 'unanswered'

beforeEach(async () => {
  readEntries = 0
  commitEnds = 'as it should'
  receiver = await startReceiver((_, res) => void res.writeHead(204).end())
  const openStore = async (dataDir: string) =>
    withCalls(await openTestStore(dataDir), (name, perform, parameters) => {
      if (name === 'commit' && commitEnds === 'unwritten') return Promise.reject(NO_ANSWER)
      const result = perform()
      if (name === 'commit' && commitEnds === 'unanswered') return (result as Promise<unknown>).then(noAnswer)
      if (name === 'audit.read' && parameters[2] !== 1)
        void (result as Promise<readonly unknown[]>).then(({ length }) => {
          readEntries += length
        })
      return result
    })
  const settings = { rateLimitPerSecond: 0, webhookAllowPrivate: true }
  server = await runServer({ settings, clock: new FastClock(), parts: { openStore } })
  await createPolicy(server, allowing('mail.*'))
  const body = { url: receiver.url, events: ['decision.created'] }
  await succeed(server.call('POST', '/v1/webhooks', { body }))
})
afterEach(async () => {
  await server.stop()
  await receiver.close()
})

const REQUEST = { agent_id: 'agent:a', action: 'mail.send' }
const decideOnce = () => decide(server, REQUEST)
async function expectUnavailable(): Promise<void> {
  expect((await server.call('POST', '/v1/decisions', { body: REQUEST })).status).toBe(503)
}
const stats = () => succeed(server.call('GET', '/v1/stats'))
const received = () => receiver.received.map(({ body }) => JSON.parse(body.toString()).data.id)

/** The number of entries under the newest checkpoint. */
async function signedEntries(): Promise<number> {
  const { data } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
  const notes: { note: string }[] = data
  return Math.max(0, ...notes.map(({ note }) => Number(parseCheckpoint(parseNote(note).text).size)))
}

describe('the feed', () => {
  it('reads no entry back while decisions are made, and counts, signs and sends each of them once', async () => {
    const ids = [(await decideOnce()).id]
    await stats()
    await until('the first event', () => (received().length === 1 ? true : undefined))
    readEntries = 0
    for (let round = 0; round < 40; round += 1) {
      const made = await Promise.all([decideOnce(), decideOnce(), decideOnce()])
      ids.push(...made.map(({ id }) => id))
      if (round % 10 === 9)
        await until('the events so far', () => (received().length === ids.length ? true : undefined))
    }
    expect(await stats()).toMatchObject({ total: { decisions: ids.length }, uncounted_entries: 0 })
    expect(readEntries).toBe(0)
    expect(received().toSorted()).toEqual(ids.toSorted())
  })

  it('counts and signs what became durable without an answer, and nothing that did not', async () => {
    await decideOnce()
    expect(await stats()).toMatchObject({ total: { decisions: 1 } })
    commitEnds = 'unwritten'
    await expectUnavailable()
    commitEnds = 'as it should'
    expect(await stats()).toMatchObject({ total: { decisions: 1 }, uncounted_entries: 0 })
    commitEnds = 'unanswered'
    await expectUnavailable()
    commitEnds = 'as it should'
    expect(await stats()).toMatchObject({ total: { decisions: 2 }, uncounted_entries: 0 })
    await decideOnce()
    expect(await stats()).toMatchObject({ total: { decisions: 3 }, uncounted_entries: 0 })
    const decisions = await everyItem(server, '/v1/decisions')
    expect(decisions).toHaveLength(3)
    const entries = await everyItem(server, '/v1/audit')
    await until('a checkpoint over all', async () => ((await signedEntries()) === entries.length ? true : undefined))
    await until('the events', () => (received().length === 3 ? true : undefined))
    expect(received().toSorted()).toEqual(decisions.map(({ id }) => id).toSorted())
  })
})

/** The thread of the feed may end at any time: the next one goes on from the store, and then from what the server tells it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCheckpoint, parseNote } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const ENDING = new URL('ending-feed-thread.mjs', import.meta.url).href

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

it('counts and signs every decision once, over two ends of the thread in the middle of decisions', async () => {
  const directory = newDirectory()
  const list = join(directory, 'starts')
  writeFileSync(list, '')
  const starts = () => readFileSync(list, 'utf8').split('\n').length - 1
  const env = { NODE_OPTIONS: `--import ${ENDING}`, FEED_STARTS: list }
  const server = await ShippedServer.start({ dataDir: join(directory, 'data'), env })
  const body = { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] }
  expect((await server.call('POST', '/v1/policies', { body })).status).toBe(201)
  let decisions = 0
  const decideOnce = async () => {
    const request = { agent_id: 'agent:a', action: 'mail.send' }
    expect((await server.call('POST', '/v1/decisions', { body: request })).status).toBe(200)
    decisions += 1
  }
  for (let end = 1; end <= 2; end += 1) {
    for (let i = 0; i < 50; i += 1) await decideOnce()
    server.signal('SIGUSR2')
    // While there is no thread, and while the next one starts.
    await until('the next thread', async () => {
      await decideOnce()
      return starts() === end + 1 ? true : undefined
    })
    for (let i = 0; i < 50; i += 1) await decideOnce()
    const { body: stats } = await server.call('GET', '/v1/stats')
    expect(stats).toMatchObject({ total: { decisions }, uncounted_entries: 0 })
  }
  const { body: entries } = await server.call('GET', '/v1/audit?limit=1')
  const [{ log, index }] = entries.data
  await until('a checkpoint over all entries', async () => {
    const { body: checkpoints } = await server.call('GET', '/v1/audit/checkpoints')
    const newest = checkpoints.data.find((one: { log: string }) => one.log === log)
    const size = newest === undefined ? 0 : Number(parseCheckpoint(parseNote(newest.note).text).size)
    expect(size).toBeLessThanOrEqual(index + 1)
    return size === index + 1 ? true : undefined
  })
  expect((await server.stop()).code).toBe(0)
})

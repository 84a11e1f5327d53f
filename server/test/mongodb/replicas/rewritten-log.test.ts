/** Servers that share MongoDB remember what the others have signed: none of them signs what somebody has written in its place. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { MongoClient } from 'mongodb'
import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { forgetTrees, intruderOf } from '../../intruder.js'
import { countersign, newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { done, ISSUER, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

/** The root log of what a server shows is not smaller than this. */
const shows = (server: ShippedServer, size: number) =>
  until(`a root log of ${size} checkpoints`, async () => {
    const { status, body } = await server.call('GET', '/v1/audit/checkpoints')
    return status === 200 && body.root?.size >= size ? (body.root as { size: number; origin: string }) : undefined
  })

/** The size of the root log that a data directory remembers. */
function rememberedIn(dataDir: string): number {
  if (!existsSync(join(dataDir, 'checkpoints.ndjson'))) return 0
  const lines = readFileSync(join(dataDir, 'checkpoints.ndjson'), 'utf8').trimEnd().split('\n')
  return Math.max(0, ...lines.map((line) => JSON.parse(line)).map(({ seen, unsaved }) => (seen ?? unsaved)?.size ?? 0))
}

const statusOf = async (server: ShippedServer) => (await server.call('GET', '/v1/audit/checkpoints')).status

async function accept(url: string, dataDir: string): Promise<void> {
  const env = { MONGODB_URL: url, DATA_DIR: dataDir, ISSUER }
  const child = countersign(['audit', 'accept-rewrite'], { env })
  expect({ ...(await child.end(60_000)), said: child.stderr }).toMatchObject({ code: 0, said: '' })
}

it('a crash between the state of the trees and their checkpoints is no rewrite', async () => {
  const url = newDatabase()
  const dataDir = newDirectory()
  const first = await startReplica({ url, dataDir })
  const second = await startReplica({ url })
  const body = { name: 'p', rules: [{ action: 'a', effect: 'allow' }] }
  await until('a policy', async () => (await first.call('POST', '/v1/policies', { body })).status === 201 || undefined)
  const { size } = await shows(second, 2)
  const client = new MongoClient(url)
  const checkpoints = client.db().collection<{ _id: string }>('log_checkpoints')
  const _id = String(size - 1).padStart(16, '0')
  await until(
    'the checkpoint, which is shown before it is stored',
    async () => (await checkpoints.findOne({ _id })) ?? undefined,
  )
  await first.kill()
  await second.kill()
  // As if the process that had saved the state had ended there.
  const { deletedCount } = await checkpoints.deleteOne({ _id })
  await client.close()
  expect(deletedCount).toBe(1)
  const store = await openMongoStore({ url })
  const [last] = await store.trees.listCheckpoints(size - 1, 10).finally(() => store.close())
  expect(last).toMatchObject({ index: size - 1 })
  // For seconds nobody takes up the trees.
  const third = await startReplica({ url })
  const { path } = await done(third.call('GET', `/v1/audit/consistency?from=${size - 1}`))
  expect(path.length).toBeGreaterThan(0)
})

it('a server signs nothing in the place of what another one has signed, and a new one does not either', async () => {
  const url = newDatabase()
  const name = new URL(url.replace(/^mongodb/, 'http')).pathname.slice(1)
  const [firstDir, secondDir, thirdDir] = [newDirectory(), newDirectory(), newDirectory()]
  const first = await startReplica({ url, dataDir: firstDir })
  const { size } = await shows(first, 1)
  const second = await startReplica({ url, dataDir: secondDir })
  const before = await shows(first, size + 1)
  await until('the second to remember', () => rememberedIn(secondDir) >= before.size || undefined)
  await first.kill()

  const { body } = await second.call('GET', '/v1/audit?type=signing_key.created')
  const { log, index } = body.data.at(-1)
  const intruder = intruderOf(secondDir, name)
  await intruder.changeEntry(log, index, (entry) => ({ ...entry, subject: 'nobody' }))
  await forgetTrees(intruder)
  await until('the second to find it', async () => (await statusOf(second)) === 409 || undefined)
  const third = await startReplica({ url, dataDir: thirdDir })
  const body201 = { name: 'p', rules: [{ action: 'a', effect: 'allow' }] }
  await until('a policy', async () =>
    (await third.call('POST', '/v1/policies', { body: body201 })).status === 201 ? true : undefined,
  )
  // It has seen nothing before, and would sign. But the second one keeps the trees.
  expect((await done(third.call('GET', '/v1/audit/checkpoints'))).root).toBeNull()

  await accept(url, secondDir)
  const { origin } = await shows(second, 1)
  expect(origin).toMatch(/^decisions\.example\/root\.[\w-]{8}$/)
  expect((await shows(third, 1)).origin).toBe(origin)
  const back = await startReplica({ url, dataDir: firstDir })
  expect(await statusOf(back)).toBe(409)
  await accept(url, firstDir)
  expect((await shows(back, 1)).origin).toBe(origin)
})

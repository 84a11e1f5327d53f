/** kill -9 of replicas at any moment: nothing that was acknowledged is missing, and budgets are the sum over decisions. */
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/adapters/store-mongodb/open'
import { call, listAll } from '../../process/call.js'
import { startDriven } from '../../process/driven-server.js'
import { SEED, seededRandom } from '../../process/random.js'
import { CHOSEN_KEY, newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { until } from '../../process/until.js'
import { ReplicaLoad } from './replica-load.js'
import { done, ISSUER, newDatabase, removeReplicas, settledAccounts, startReplica } from './replicas.js'

afterEach(removeReplicas)

const CALLERS = 12
const POLICY = {
  name: 'shared',
  rules: [{ action: 'pay.create', effect: 'allow' }],
  budget: { limit: 1_000_000, unit: 'EUR', period: 'total' },
}

it(`replicas under load, killed ${stress.replica_rounds} times`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  const directories = [newDirectory(), newDirectory(), newDirectory()]
  const start = (i: number) => startReplica({ url, dataDir: directories[i] as string })
  const replicas = [await start(0), await start(1), await start(2)]
  const any = () => replicas[Math.floor(random() * 3)] as ShippedServer
  const { id } = await done(any().call('POST', '/v1/policies', { body: POLICY }))
  for (const server of replicas)
    await until('all to know the policy', async () =>
      (await server.call('GET', `/v1/policies/${id}`)).status === 200 ? true : undefined,
    )

  const load = new ReplicaLoad(random, any)
  const running = load.run(CALLERS)
  for (let kill = 0; kill < stress.replica_rounds; kill++) {
    const enough = load.acknowledged.size + 20 + Math.floor(random() * 60)
    await until(`${enough} decisions`, () => (load.acknowledged.size >= enough ? true : undefined), 60_000)
    const i = Math.floor(random() * 3)
    replicas[i]?.process.kill('SIGKILL')
    await replicas[i]?.end()
    replicas[i] = await start(i)
  }
  load.stop()
  await running

  // What dead replicas left is finished; then what was not answered can be asked again, and happens once.
  await settledAccounts(url)
  const acknowledged = new Map(load.acknowledged)
  for (const asked of load.unknown) {
    const answer = await until(`an answer to ${asked.path}`, async () => {
      const { status, body } = await load.send(any(), asked)
      return status === 503 ? undefined : { status, body }
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    acknowledged.set(asked.marker, answer.body)
  }
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)
  const decisions = await until('all to answer again', async () =>
    listAll(any().url, '/v1/decisions', CHOSEN_KEY).catch(() => undefined),
  )
  const found = new Map(decisions.map((decision) => [decision.context.marker, decision]))
  expect(found.size).toBe(decisions.length)
  for (const [marker, { id, status }] of acknowledged) expect(found.get(marker)).toMatchObject({ id, status })
  expect(found.size).toBe(acknowledged.size)
  console.log(`${decisions.length} decisions, ${load.unknown.length} calls unanswered; ${JSON.stringify(stored)}`)
})

it('a replica that dies between the reservation and the record leaves nothing behind', async () => {
  const url = newDatabase()
  const other = await startReplica({ url })
  const { id } = await done(other.call('POST', '/v1/policies', { body: POLICY }))
  const account = { policy_id: id, unit: 'eur', period: 'total', agent_id: null, starts_at: null } as const
  for (let round = 0; round < stress.replica_rounds; round++) {
    const dies = await startDriven({
      dataDir: newDirectory(),
      now: new Date(),
      env: { MONGODB_URL: url, ISSUER },
    })
    await dies.killAt({ type: 'decision.created', step: 'reserve' })
    const body = { agent_id: 'agent:a', action: 'pay.create', context: { amount: 7 } }
    await expect(call(dies.url, 'POST', '/v1/decisions', { key: CHOSEN_KEY, body })).rejects.toThrow()
    expect(await dies.end()).toEqual({ code: null, signal: 'SIGKILL' })
    const store = await openMongoStore({ url })
    const reserved = async () => (await store.ledger.balances([account]))[0]?.reserved
    expect(await reserved()).toBe(7_000_000n)
    expect(await settledAccounts(url)).toEqual({ stored: {}, recomputed: {} })
    expect(await reserved()).toBe(0n)
    await store.close()
  }
})

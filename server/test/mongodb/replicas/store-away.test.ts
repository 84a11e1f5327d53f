/** The store is away under load: every answer meanwhile is 503, no permit leaves, and service returns by itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import type { ShippedServer } from '../../process/shipped-server.js'
import { openRelay, type Relay } from '../../stores/mongodb/relay.js'
import { expectWholeOutcome } from './outcome.js'
import { ReplicaLoad, tally } from './replica-load.js'
import { newDatabase, POLICY, removeReplicas, startReplica, writeSharedPolicy } from './replicas.js'

let relay: Relay
afterEach(async () => {
  await removeReplicas()
  await relay.close()
})

const CALLERS = 12
/** How often another caller comes while the store does not answer. */
const ARRIVAL_MS = 50
/** The second length is more than any call waits for the store. */
const OUTAGES = [
  { how: 'kill', ms: 3000 },
  { how: 'hold', ms: 3000 },
  { how: 'kill', ms: 7000 },
  { how: 'hold', ms: 7000 },
] as const
const ANSWER_MS = 8000
const ASK = { agent_id: 'agent:other', action: 'pay.create', context: { amount: 0 } }

it(`replicas under load whose store was away ${stress.replica_rounds} times`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  relay = await openRelay(url, () => 'passes')
  const replicas = [await startReplica({ url: relay.url }), await startReplica({ url: relay.url })] as const
  await writeSharedPolicy(replicas, POLICY)
  const load = new ReplicaLoad(random, () => replicas[random() < 0.5 ? 0 : 1])
  const running = load.run(CALLERS)
  for (let round = 0; round < stress.replica_rounds; round++) {
    const { how, ms } = OUTAGES[round % OUTAGES.length] as (typeof OUTAGES)[number]
    const enough = load.acknowledged.size + 30
    await until('decisions', () => (load.acknowledged.size >= enough ? true : undefined))

    const wentAt = performance.now()
    relay[how]()
    const arrivals: Promise<void>[] = []
    for (; performance.now() - wentAt < ms; await sleep(ARRIVAL_MS)) arrivals.push(load.visit())
    const backAt = performance.now()
    // What was asked before may have been recorded before, too.
    const meanwhile = load.seen.filter(({ sentAt, at }) => sentAt > wentAt && at < backAt)
    relay.revive()
    expect(meanwhile.filter(({ answer }) => answer?.status !== 503)).toEqual([])
    for (const { answer } of meanwhile) expect(answer?.headers.get('retry-after')).not.toBeNull()
    expect(JSON.stringify(meanwhile)).not.toContain('permit_token')
    if (ms > 5000) expect(meanwhile.length).toBeGreaterThan(0)

    const returns = await Promise.all(replicas.map((server) => serviceOf(server, backAt)))
    await Promise.all(arrivals)
    console.log(`${how}, ${ms} ms: ${tally(meanwhile)}; service was back after ${returns.join(' and ')} ms`)
  }
  load.stop()
  await running
  const longest = Math.max(...load.seen.map(({ sentAt, at }) => at - sentAt))
  console.log(`${load.seen.length} answers: ${tally(load.seen)}; the longest took ${longest.toFixed(0)} ms`)
  // A busy machine answers later than it means to.
  expect(longest).toBeLessThan(1.5 * ANSWER_MS)
  console.log(await expectWholeOutcome(url, replicas[0], load))
})

/** How long after the store was back this one decides again. */
async function serviceOf(server: ShippedServer, backAt: number): Promise<string> {
  await until('service', async () =>
    (await server.call('POST', '/v1/decisions', { body: ASK })).status === 200 ? true : undefined,
  )
  return (performance.now() - backAt).toFixed(0)
}

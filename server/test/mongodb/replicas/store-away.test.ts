/** The store is away for 3 s under load: every answer meanwhile is 503, no permit leaves, and service returns by itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { SEED, seededRandom } from '../../process/random.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { until } from '../../process/until.js'
import { openRelay, type Relay } from '../relay.js'
import { ReplicaLoad } from './replica-load.js'
import { done, newDatabase, removeReplicas, settledAccounts, startReplica } from './replicas.js'

let relay: Relay
afterEach(async () => {
  await removeReplicas()
  await relay.close()
})

const CALLERS = 12
const AWAY_MS = 3000
/** What the store said before it went may still be on its way to a caller. */
const LAST_WORD_MS = 300
/** No caller waits longer for an answer: the server's own bound, and what a busy machine takes. */
const BOUND_MS = 8000 + 500

it('is told to every caller in time, and over when it is over', async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  relay = await openRelay(url, () => 'passes')
  const replicas = [await startReplica({ url: relay.url }), await startReplica({ url: relay.url })]
  const any = () => replicas[Math.floor(random() * 2)] as ShippedServer
  const budget = { limit: 1_000_000, unit: 'EUR', period: 'total' }
  const rules = [{ action: 'pay.create', effect: 'allow' }]
  const { id } = await done(any().call('POST', '/v1/policies', { body: { name: 'shared', rules, budget } }))
  for (const server of replicas)
    await until('all to know the policy', async () =>
      (await server.call('GET', `/v1/policies/${id}`)).status === 200 ? true : undefined,
    )
  const load = new ReplicaLoad(random, any)
  const running = load.run(CALLERS)
  const returns: number[] = []
  for (let round = 0; round < stress.replica_rounds; round++) {
    const enough = load.acknowledged.size + 30
    await until('decisions', () => (load.acknowledged.size >= enough ? true : undefined))
    const wentAt = performance.now()
    relay.kill()
    await sleep(AWAY_MS)
    const backAt = performance.now()
    const meanwhile = load.seen.filter(({ at }) => at > wentAt + LAST_WORD_MS && at < backAt)
    expect(meanwhile.map(({ answer }) => answer?.status).filter((status) => status !== 503)).toEqual([])
    expect(JSON.stringify(meanwhile)).not.toContain('permit_token')
    relay.revive()
    const before = load.acknowledged.size
    await until('service', () => (load.acknowledged.size > before ? true : undefined))
    returns.push(performance.now() - backAt)
  }
  load.stop()
  await running
  const longest = Math.max(...load.seen.map(({ sentAt, at }) => at - sentAt))
  const refused = load.seen.filter(({ answer }) => answer?.status === 503)
  const codes = new Map<string, number>()
  for (const { answer } of refused) codes.set(answer?.body.code, (codes.get(answer?.body.code) ?? 0) + 1)
  console.log(
    `${refused.length} of ${load.seen.length} answers were 503 (${JSON.stringify([...codes])}), the longest took ` +
      `${longest.toFixed(0)} ms; service was back after ${returns.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  )
  for (const { answer } of refused) expect(answer?.headers.get('retry-after')).not.toBeNull()
  expect(longest).toBeLessThan(BOUND_MS)
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)
})

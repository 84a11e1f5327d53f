/** Many callers of three replicas race for one budget: at no moment is more promised than its limit. */
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../../api/ledger-model/reference-money.js'
import { SEED, seededRandom } from '../../process/random.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { until } from '../../process/until.js'
import { done, newDatabase, removeReplicas, settledAccounts, startThree } from './replicas.js'

afterEach(removeReplicas)

const CALLERS = 30
const LIMIT = 500

it(`${CALLERS} callers and ${stress.replica_race_requests} requests over three replicas`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  const replicas = await startThree(url)
  const one = () => replicas[Math.floor(random() * 3)] as ShippedServer
  const rules = [{ action: 'pay.create', effect: 'allow' }]
  const budget = { limit: LIMIT, unit: 'EUR', period: 'total' }
  const policy = await done(replicas[0].call('POST', '/v1/policies', { body: { name: 'shared', rules, budget } }))
  const knows = async () => (await one().call('GET', '/v1/policies')).body.data.length === 1
  for (const server of replicas)
    await until('all to know it', async () =>
      (await server.call('GET', `/v1/policies/${policy.id}`)).status === 200 ? true : undefined,
    )
  expect(await knows()).toBe(true)

  let asked = 0
  const counts = { allowed: 0, refused: 0, busy: 0, polls: 0 }
  const settle = async (id: string, amount: number): Promise<void> => {
    const dice = random()
    const path = `/v1/decisions/${id}`
    if (dice < 0.3) await done(one().call('POST', `${path}/confirm`, { body: { amount: amount * random() } }))
    else if (dice < 0.9) await done(one().call('POST', `${path}/reject`, { body: {} }))
  }
  const caller = async (): Promise<void> => {
    while (asked++ < stress.replica_race_requests) {
      const amount = Math.round(random() * 5_000_000) / 100_000
      const body = { agent_id: 'agent:a', action: 'pay.create', context: { amount } }
      const { status, body: decision } = await one().call('POST', '/v1/decisions', { body })
      if (status === 503) {
        expect(decision.code).toBe('budget_busy')
        counts.busy += 1
      } else if (decision.effect === 'allow') {
        counts.allowed += 1
        await settle(decision.id, amount)
      } else {
        expect(decision.reason_code).toBe('budget_exceeded')
        counts.refused += 1
      }
    }
  }
  let isOver = false
  const poll = async (): Promise<void> => {
    while (!isOver) {
      const [row] = (await done(one().call('GET', `/v1/policies/${policy.id}/budget`))).data
      expect(micro(row.spent) + micro(row.reserved)).toBeLessThanOrEqual(micro(LIMIT))
      counts.polls += 1
    }
  }
  const started = performance.now()
  const callers = Promise.all(Array.from({ length: CALLERS }, caller)).finally(() => {
    isOver = true
  })
  await Promise.all([callers, poll()])
  console.log(`${((performance.now() - started) / 1000).toFixed(1)} s: ${JSON.stringify(counts)}`)
  expect(Math.min(counts.allowed, counts.refused)).toBeGreaterThan(0)
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)
})

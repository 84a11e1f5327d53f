/** Many callers of three replicas race for one budget: at no moment is more promised than its limit. */
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../../api/ledger-model/reference-money.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { newDatabase, removeReplicas, settledAccounts, startThree, writeSharedPolicy } from './replicas.js'

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
  const policy = await writeSharedPolicy(replicas, { name: 'shared', rules, budget })

  let asked = 0
  const counts = { allowed: 0, refused: 0, unavailable: 0, polls: 0 }
  const settle = async (id: string, amount: number): Promise<void> => {
    const dice = random()
    const path = `/v1/decisions/${id}`
    if (dice >= 0.9) return
    const isConfirmed = dice < 0.3
    const body = isConfirmed ? { amount: amount * random() } : {}
    const { status } = await one().call('POST', `${path}/${isConfirmed ? 'confirm' : 'reject'}`, { body })
    if (status !== 503) expect(status).toBe(200)
  }
  const caller = async (): Promise<void> => {
    while (asked++ < stress.replica_race_requests) {
      const amount = Math.round(random() * 5_000_000) / 100_000
      const body = { agent_id: 'agent:a', action: 'pay.create', context: { amount } }
      const { status, body: decision } = await one().call('POST', '/v1/decisions', { body })
      if (status === 503) {
        // Busy, or on a machine that is too busy to look at what others changed.
        expect(['budget_busy', 'replica_stale']).toContain(decision.code)
        counts.unavailable += 1
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
      const { status, body } = await one().call('GET', `/v1/policies/${policy}/budget`)
      if (status === 503) continue
      const [row] = body.data
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
  expect(Math.min(counts.allowed, counts.refused, counts.polls)).toBeGreaterThan(0)
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)
})

/** What is on its way in a replica when it is frozen is not decided by rules that are old when it goes on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

const CALLS = 12
/** Well above the promise. */
const FREEZE_MS = 4000

it('whatever was reached when it stopped', async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const url = newDatabase()
  const [awake, frozen] = [await startReplica({ url }), await startReplica({ url })]
  const told: Record<string, number> = {}
  for (let round = 0; round < stress.replica_rounds; round++) {
    const action = `pay.round${round}`
    const policy = (effect: string) => ({
      name: action,
      rules: [{ action, effect }],
      budget: { limit: 1000, unit: 'calls', period: 'total', amount: 1 },
    })
    const { id } = await done(awake.call('POST', '/v1/policies', { body: policy('allow') }))
    const ask = (server: typeof awake, call: number) =>
      server.call('POST', '/v1/decisions', {
        body: { agent_id: 'agent:a', action },
        headers: { 'Idempotency-Key': `${action}-${call}` },
      })
    let looks = 0
    await until('the policy to count', async () =>
      (await ask(frozen, CALLS + ++looks)).body.effect === 'allow' ? true : undefined,
    )
    const calls = [...Array(CALLS).keys()]
    const first = calls.map((call) => ask(frozen, call))
    await sleep(random() * 30)
    frozen.signal('SIGSTOP')
    await done(awake.call('PUT', `/v1/policies/${id}`, { body: policy('deny') }))
    const flippedAt = Date.now()
    await sleep(FREEZE_MS)
    frozen.signal('SIGCONT')
    for (const { status } of await Promise.all(first)) expect([200, 503]).toContain(status)
    for (const call of calls) {
      const { effect, evaluated_at } = (
        await until(`the same call again, ${call}`, async () => {
          const answer = await ask(awake, call)
          return answer.status === 200 ? answer : undefined
        })
      ).body
      told[effect] = (told[effect] ?? 0) + 1
      if (effect !== 'deny') expect(Date.parse(evaluated_at)).toBeLessThanOrEqual(flippedAt)
    }
  }
  console.log(`answers in the end: ${JSON.stringify(told)}`)
})

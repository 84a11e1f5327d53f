/** The guard of the SDK against the server as it is shipped. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Countersign, DeniedError } from '@countersign/client'
import { verifyGuard } from '@countersign/client/verify'
import { stress } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Child, endChildren } from './child.js'
import { runTwice } from './crashing-job.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const RUNNER = fileURLToPath(new URL('./guard-runner.mjs', import.meta.url))
/** Started at a time: hundreds of new processes at once only wait for each other. */
const AT_ONCE = 10

describe('a guard', () => {
  let server: ShippedServer
  let client: Countersign
  beforeEach(async () => {
    server = await ShippedServer.start({ dataDir: newDirectory() })
    client = new Countersign({ baseUrl: server.url, apiKey: server.key, agentId: 'agent:a' })
  })
  afterEach(async () => {
    client.close()
    await endChildren()
    removeDirectories()
  })

  const budget = { limit: 100, unit: 'EUR', period: 'total' } as const

  it(`of ${stress.claiming_processes} processes that resume one decision runs it in one`, async () => {
    await client.policies.create({ name: 'pay', rules: [{ action: 'pay.create', effect: 'review' }], budget })
    const request = { agent_id: 'agent:a', action: 'pay.create', context: { amount: 60 } }
    const asked = await client
      .guard(request, () => 'ran', { idempotencyKey: 'the-one-job' })
      .catch((error: unknown) => error)
    const id = DeniedError.isInstance(asked) ? (asked.decision_id ?? '') : ''
    expect(asked).toMatchObject({ reason: 'review_required', decision_id: expect.stringMatching(/^dec_/) })

    const runners: Child[] = []
    while (runners.length < stress.claiming_processes) {
      const some = Array.from({ length: Math.min(AT_ONCE, stress.claiming_processes - runners.length) }, () => {
        return new Child(process.execPath, [RUNNER, server.url, server.key, JSON.stringify(request)], { ipc: true })
      })
      await Promise.all(some.map((child) => once(child.process, 'message')))
      runners.push(...some)
    }
    const answers = runners.map(async (child) => {
      const answered = once(child.process, 'message')
      child.process.send('go')
      return (await answered)[0] as { outcome: string; runs: number }
    })
    await client.decisions.approve(id)
    const outcomes = await Promise.all(answers)
    expect(outcomes.reduce((sum, { runs }) => sum + runs, 0)).toBe(1)
    expect(outcomes.filter(({ outcome }) => outcome === 'ran')).toHaveLength(1)
    // Who comes when it has been confirmed finds it settled.
    const others = outcomes.filter(({ outcome }) => outcome !== 'ran').map(({ outcome }) => outcome)
    expect(others.filter((outcome) => !/^DeniedError (already_claimed|settled)$/.test(outcome))).toEqual([])
    expect((await client.decisions.get(id)).status).toBe('confirmed')
    for await (const { spent, reserved } of client.budgets.list())
      expect({ spent, reserved }).toEqual({ spent: 60, reserved: 0 })
  })

  it('settles what its budget counts, in whatever way the action ends', async () => {
    await client.policies.create({ name: 'pay', rules: [{ action: 'pay.create', effect: 'allow' }], budget })
    const pay = (amount: number, end: (spent: (amount: number) => void) => unknown) =>
      client
        .guard({ action: 'pay.create', context: { amount } }, (_asked, { setAmount }) => end(setAmount))
        .catch((error: unknown) => error)
    await pay(10, () => 'paid')
    await pay(20, (spent) => spent(15))
    await pay(30, () => Promise.reject(new Error('declined')))
    await pay(5, () => Promise.reject(new DOMException('late', 'TimeoutError')))
    const { data } = await client.policies.budget((await client.policies.list().page()).data[0]?.id ?? '').page()
    expect(data).toMatchObject([{ spent: 25, reserved: 5, remaining: 70 }])
    expect(await pay(71, () => 'paid')).toMatchObject({
      name: 'DeniedError',
      reason: 'denied',
      advice: { max_amount: 70 },
    })
  })

  it('passes its own trial, with policies that are made for it and are gone afterwards', async () => {
    const { key } = await client.keys.create({ name: 'bot', scopes: ['decisions:write'], agents: ['agent:canary'] })
    const bot = new Countersign({ baseUrl: server.url, apiKey: key, agentId: 'agent:canary' })
    const canary = (resource: string) => {
      let runs = 0
      const asked = { agent_id: 'agent:canary', action: 'pay.create', resource }
      return {
        attempt: (own: Pick<Countersign, 'guard'>) =>
          own.guard(
            asked,
            () => {
              runs += 1
            },
            { review: 'wait' },
          ),
        runs: () => runs,
        asked,
      }
    }
    const canaries = { allowed: canary('pay:1'), denied: canary('pay:2'), review: canary('pay:3') }
    const { ok, checks } = await verifyGuard({ client: bot, admin: client, ...canaries })
    expect(checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([])
    expect(ok).toBe(true)
    expect((await client.policies.list().page()).data).toEqual([])
    const decisions = (await client.decisions.list().page()).data
    expect(decisions.map(({ status }) => status).sort()).toEqual(['confirmed', 'denied', 'rejected'])
    // Without those policies nothing is allowed, and nothing is shown.
    expect((await verifyGuard({ client: bot, ...canaries })).ok).toBe(false)
    bot.close()
  })

  it('runs its action again after a crash, with the same key and holder and the same decision', async () => {
    const { id, ...seen } = await runTwice(server, 'at-least-once')
    const said = [{ began: id }, { began: id }, { outcome: 'paid' }]
    expect(seen).toEqual({ said, status: 'confirmed', spent: 60, reserved: 0 })
  })

  it('that runs at most once does not run it again after a crash, and holds its money', async () => {
    const { id, ...seen } = await runTwice(server, 'at-most-once')
    const said = [{ began: id }, { outcome: 'DeniedError permit_already_used' }]
    expect(seen).toEqual({ said, status: 'authorized', spent: 0, reserved: 60 })
  })

  it('finds nothing to run where the server has gone', async () => {
    await client.policies.create({ name: 'pay', rules: [{ action: 'pay.create', effect: 'allow' }] })
    let runs = 0
    const pay = (): Promise<unknown> =>
      client.guard({ action: 'pay.create' }, () => {
        runs += 1
      })
    await pay()
    await server.stop()
    await expect(pay()).rejects.toMatchObject({ name: 'DeniedError', reason: 'unavailable' })
    expect(runs).toBe(1)
  })
})

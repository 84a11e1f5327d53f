/** Many guards that resume one decision, in one process: one runs. The same in processes: test/process/guard.slow.test.ts. */
import { Countersign, DeniedError } from '@countersign/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { useDecisionPoint } from './running-point.js'

const GUARDS = 100
const point = useDecisionPoint()

describe('one decision', () => {
  const clients: Countersign[] = []
  const open = (): Countersign => {
    const patient = { timeoutMs: 60_000, connectTimeoutMs: 60_000 }
    const client = new Countersign({ baseUrl: point().url, apiKey: point().apiKey, ...patient })
    clients.push(client)
    return client
  }
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })

  /** Resumes what was approved once every guard waits for it. */
  async function resume(action: string, guarding: readonly Countersign[], holderOf: (guard: number) => string) {
    const admin = open()
    await admin.policies.create({ name: action, rules: [{ action, effect: 'review' }] })
    const heard = new Set<number>()
    const ids = new Set<string>()
    const run = vi.fn(async () => 'ran')
    const running = guarding.map((client, guard) =>
      client
        .guard({ agent_id: 'agent:a', action }, run, {
          review: 'wait',
          idempotencyKey: `job-${action}`,
          holder: holderOf(guard),
          settleTimeoutMs: 60_000,
          onEvent(event) {
            if (event.type !== 'decision') return
            heard.add(guard)
            ids.add(event.decision.id)
          },
        })
        .catch((error: unknown) => (DeniedError.isInstance(error) ? error.reason : error)),
    )
    await vi.waitFor(() => expect(heard.size).toBe(guarding.length), { timeout: 50_000 })
    const [id = '', ...others] = ids
    expect(others).toEqual([])
    await admin.decisions.approve(id)
    return { outcomes: await Promise.all(running), run, decision: await admin.decisions.get(id) }
  }

  it.each([
    ['one client, each as a job of its own', 1, (guard: number) => `job-${guard}`],
    ['one client, all as the same job', 1, () => 'the-one-job'],
    ['a client each, each as a job of its own', GUARDS, (guard: number) => `job-${guard}`],
  ])(`runs behind one of ${GUARDS} guards of %s`, async (_whose, clientCount, holderOf) => {
    const own = Array.from({ length: clientCount }, open)
    const guarding = Array.from({ length: GUARDS }, (_, guard) => own[guard % clientCount] as Countersign)
    const action = `pay.run-${crypto.randomUUID()}`
    const { outcomes, run, decision } = await resume(action, guarding, holderOf)
    expect(run).toHaveBeenCalledTimes(1)
    expect(outcomes.filter((outcome) => outcome === 'ran')).toHaveLength(1)
    // Who comes when it has been confirmed finds it settled.
    const refused = outcomes.filter((outcome) => outcome !== 'already_claimed' && outcome !== 'settled')
    expect(refused).toEqual(['ran'])
    expect(decision.status).toBe('confirmed')
  })
})

/** A call without an idempotency key awaits a review: a repeat of it, and nothing else, takes that review up, once. */

import { fileURLToPath } from 'node:url'
import { Countersign, type CountersignOptions, DeniedError, type EnforcementOptions } from '@countersign/client'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Child, endChildren } from '../process/child.js'
import { useDecisionPoint } from './running-point.js'

const point = useDecisionPoint()
const PATIENT = { timeoutMs: 30_000, connectTimeoutMs: 30_000 }

describe('a repeat of a call that awaits a review', () => {
  const clients: Countersign[] = []
  const open = (options: CountersignOptions = {}): Countersign => {
    const client = new Countersign({ baseUrl: point().url, apiKey: point().apiKey, ...PATIENT, ...options })
    clients.push(client)
    return client
  }
  afterEach(async () => {
    await endChildren()
    for (const client of clients.splice(0)) client.close()
  })

  /** Payments that are all reviewed, with a budget of 1,000, and a key that asks for them. */
  async function startDesk(scopes: readonly string[] = ['decisions:write', 'decisions:read']) {
    const operator = open()
    const action = `desk.pay-${crypto.randomUUID().slice(0, 8)}`
    const agentId = `agent:${action.slice(-8)}`
    const { id: policy } = await operator.policies.create({
      name: action,
      rules: [{ action, effect: 'review' }],
      budget: { limit: 1_000, unit: 'EUR', period: 'total' },
    })
    const { key: apiKey } = await operator.keys.create({ name: action, scopes: [...scopes] as never })
    const ran: number[] = []
    const process = (options: EnforcementOptions = {}, client: CountersignOptions = {}) => {
      const own = open({ apiKey, agentId, ...client })
      const guards = own.enforcement({ settleTimeoutMs: 30_000, ...options })
      return {
        client: own,
        /** What becomes of a call: `ran`, or the reason why not with the decision. */
        pay: async (amount: number, more: object = {}, variant?: string): Promise<string> => {
          const question = { action, resource: 'order:8812', context: { currency: 'EUR', amount, ...more } }
          const outcome = await guards
            .guard(question, () => void ran.push(amount), { variant })
            .catch((error: unknown) => {
              if (DeniedError.isInstance(error)) return error
              throw error
            })
          return outcome === undefined ? 'ran' : `${outcome.reason} ${outcome.decision_id}`
        },
      }
    }
    const statuses = async () => {
      const { data } = await operator.decisions.list({ action }).page()
      return data.map(({ status }) => status).reverse()
    }
    const waiting = async () => {
      const { data } = await operator.decisions.list({ action, status: 'awaiting_review' }).page()
      return data.map(({ id }) => id)
    }
    const approve = async (): Promise<void> => {
      const [id = '', ...others] = await waiting()
      expect(others).toEqual([])
      await operator.decisions.approve(id)
    }
    const account = async () => {
      const [{ spent, reserved } = { spent: -1, reserved: -1 }] = (await operator.policies.budget(policy).page()).data
      return { spent, reserved }
    }
    return { operator, action, agentId, apiKey, ran, process, statuses, waiting, approve, account }
  }

  /** A process of its own: what it is told, and the next line that it prints. */
  const startCaller = ({ apiKey, action, agentId }: { apiKey: string; action: string; agentId: string }) => {
    const program = fileURLToPath(new URL('../processes/repeating-caller.mjs', import.meta.url))
    const child = new Child(process.execPath, [program, point().url, apiKey, action, agentId, 'worker'], {
      stdin: 'pipe',
    })
    let read = 0
    const say = async (line: string): Promise<string> => {
      child.process.stdin?.write(`${line}\n`)
      const next = await until('an answer of the caller', async () => child.stdout.split('\n').slice(0, -1)[read])
      read += 1
      return next
    }
    return { say }
  }

  it('asks once however often it is repeated, runs once it is approved, and then asks again', async () => {
    const desk = await startDesk()
    const { pay } = desk.process()
    const [first, ...more] = [await pay(40), await pay(40), await pay(40)]
    expect(first).toMatch(/^review_required dec_/)
    expect(more).toEqual([first, first])
    await desk.approve()
    expect(await pay(40)).toBe('ran')
    const next = await pay(40)
    expect(next).toMatch(/^review_required dec_/)
    expect(next).not.toBe(first)
    expect(desk.ran).toEqual([40])
    expect(await desk.account()).toEqual({ spent: 40, reserved: 0 })
    expect(await desk.statuses()).toEqual(['confirmed', 'awaiting_review'])
    await desk.approve()
    expect(await pay(40)).toBe('ran')
    expect(await desk.account()).toEqual({ spent: 80, reserved: 0 })
  })

  it.each([
    ['with the scope to read decisions', ['decisions:write', 'decisions:read']],
    ['without it', ['decisions:write']],
  ])('is one review for calls at the same time, and runs once when it is approved (%s)', async (_what, scopes) => {
    const desk = await startDesk(scopes)
    const { pay } = desk.process()
    const both = (): Promise<string[]> => Promise.all([pay(40), pay(40)])
    const [one, other] = await both()
    expect([one?.slice(0, 15), other?.slice(0, 15)]).toEqual(['review_required', 'review_required'])
    await vi.waitFor(async () => expect(await desk.waiting()).toHaveLength(1))
    await desk.approve()
    const outcomes = await both()
    expect(outcomes.filter((outcome) => outcome === 'ran')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome.startsWith('review_required'))).toHaveLength(1)
    // The other payment asks for itself, and runs after an approval of its own.
    await desk.approve()
    expect((await both()).filter((outcome) => outcome === 'ran')).toHaveLength(1)
    expect([desk.ran, await desk.account()]).toEqual([[40, 40], { spent: 80, reserved: 0 }])
  })

  it('is no other question: another amount, member, agent, key or holder asks for itself', async () => {
    const desk = await startDesk()
    const { pay } = desk.process()
    const first = await pay(40)
    await desk.approve()
    const { key: otherKey } = await desk.operator.keys.create({
      name: `${desk.action} 2`,
      scopes: ['decisions:write', 'decisions:read'],
    })
    for (const asking of [
      () => pay(40.01),
      () => pay(40, { note: null }),
      () => desk.process({}, { agentId: `${desk.agentId}-2` }).pay(40),
      () => desk.process({}, { apiKey: otherKey }).pay(40),
    ]) {
      const outcome = await asking()
      expect(outcome).toMatch(/^review_required dec_/)
      expect(outcome).not.toBe(first)
    }
    expect(desk.ran).toEqual([])
    expect(await pay(40)).toBe('ran')
  })

  it.each(['awaiting_review', 'approved'] as const)('after a restart takes up what is %s', async (status) => {
    const desk = await startDesk()
    const first = await desk.process().pay(40)
    const restarted = desk.process()
    if (status === 'awaiting_review') expect(await restarted.pay(40)).toBe(first)
    await restarted.client.flush()
    await desk.approve()
    expect(await restarted.pay(40)).toBe('ran')
    await restarted.client.flush()
    expect((await desk.statuses()).sort()).toEqual(['confirmed', 'rejected'])
    expect([desk.ran, await desk.account()]).toEqual([[40], { spent: 40, reserved: 0 }])
    expect(await restarted.pay(40)).toMatch(/^review_required/)
  })

  it.each(['the same process', 'another process'])('in %s is no other variant of the question', async (where) => {
    const desk = await startDesk()
    const caller = desk.process()
    await caller.pay(40, {}, 'to Ann')
    await desk.approve()
    const next = where === 'another process' ? desk.process() : caller
    expect(await next.pay(40, {}, 'to Bob')).toMatch(/^review_required/)
    expect(await next.pay(40)).toMatch(/^review_required/)
    expect(desk.ran).toEqual([])
    expect(await next.pay(40, {}, 'to Ann')).toBe('ran')
    await next.client.flush()
    expect(await desk.statuses()).toContain('confirmed')
    expect(desk.ran).toEqual([40])
  })

  it('of a protected function is for the arguments that it was asked for, also where the question leaves some out', async () => {
    const desk = await startDesk()
    const { client } = desk.process()
    const letters: string[] = []
    const send = client.protect(async (to: string, text: string) => void letters.push(`${to}: ${text}`), {
      action: desk.action,
      resource: (to) => `person:${to}`,
      context: () => ({ currency: 'EUR', amount: 1 }),
    })
    await expect(send('ann', 'thank you')).rejects.toMatchObject({ reason: 'review_required' })
    await desk.approve()
    await expect(send('ann', 'you are fired')).rejects.toMatchObject({ reason: 'review_required' })
    await send('ann', 'thank you')
    expect(letters).toEqual(['ann: thank you'])
    await client.flush()
  })

  it('after a restart goes without where its key may not read decisions', async () => {
    const desk = await startDesk(['decisions:write'])
    const first = await desk.process().pay(40)
    const restarted = desk.process()
    const second = await restarted.pay(40)
    expect(second).toMatch(/^review_required dec_/)
    expect(second).not.toBe(first)
    expect(await restarted.pay(40)).toBe(second)
  })

  it('after a restart leaves alone what a job asked for with a key of its own', async () => {
    const desk = await startDesk()
    const job = desk.process().client
    const question = { action: desk.action, resource: 'order:8812', context: { amount: 40, currency: 'EUR' } }
    const named = { idempotencyKey: 'job-17', holder: 'job-17' }
    await job.guard(question, () => 'ran', named).catch(() => undefined)
    await desk.approve()
    expect(await desk.process().pay(40)).toMatch(/^review_required/)
    expect(await job.guard(question, () => 'the job ran', named)).toBe('the job ran')
  })

  it('runs in one of many processes, once', async () => {
    const desk = await startDesk()
    await desk.process().pay(40)
    const processes = Array.from({ length: 4 }, () => desk.process())
    await desk.approve()
    const outcomes = await Promise.all(processes.flatMap(({ pay }) => [pay(40), pay(40)]))
    expect(outcomes.filter((outcome) => outcome === 'ran')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome.startsWith('review_required'))).toHaveLength(7)
    expect([desk.ran, await desk.account()]).toEqual([[40], { spent: 40, reserved: 0 }])
  })

  it('runs in one of two processes, once, also where both name the same holder', async () => {
    const desk = await startDesk()
    const [one, other] = [startCaller(desk), startCaller(desk)]
    expect([await one.say('go'), await other.say('go')]).toEqual(['review_required', 'review_required'])
    await vi.waitFor(async () => expect(await desk.waiting()).toHaveLength(1), { timeout: 20_000 })
    await desk.approve()
    expect(await other.say('hold')).toBe('begun')
    expect(await one.say('go')).toBe('review_required')
    expect(await other.say('end')).toBe('ran')
    await vi.waitFor(async () => expect(await desk.account()).toEqual({ spent: 40, reserved: 0 }), { timeout: 20_000 })
  })

  it('that is declined is told so, once; what was withdrawn is asked for again', async () => {
    const desk = await startDesk()
    const { pay, client } = desk.process()
    const first = (await pay(40)).split(' ')[1] ?? ''
    await desk.operator.decisions.decline(first)
    expect(await pay(40)).toBe(`declined ${first}`)
    const second = (await pay(40)).split(' ')[1] ?? ''
    await client.decisions.reject(second)
    const third = await pay(40)
    expect(third).toMatch(/^review_required dec_/)
    expect(new Set([first, second, third.split(' ')[1]]).size).toBe(3)
  })

  it('is a review of its own for each of two equal calls that wait, in one process and in two', async () => {
    const desk = await startDesk()
    const [one, other] = [desk.process({ review: 'wait' }), desk.process({ review: 'wait' })]
    const paying = [one.pay(40), one.pay(40)]
    await vi.waitFor(async () => expect(await desk.waiting()).toHaveLength(2), { timeout: 20_000 })
    paying.push(other.pay(40))
    for (let approved = 1; approved <= 3; approved += 1) {
      await vi.waitFor(
        async () => {
          const [id] = await desk.waiting()
          expect(id).toBeDefined()
          await desk.operator.decisions.approve(id ?? '')
        },
        { timeout: 20_000 },
      )
      await vi.waitFor(() => expect(desk.ran).toHaveLength(approved), { timeout: 20_000 })
    }
    expect(await Promise.all(paying)).toEqual(['ran', 'ran', 'ran'])
    expect(await desk.account()).toEqual({ spent: 120, reserved: 0 })
  })

  it('takes up what a wait has left behind', async () => {
    const desk = await startDesk()
    const { pay } = desk.process({ review: 'wait', reviewTimeoutMs: 200 })
    const first = await pay(40)
    expect(first).toMatch(/^review_required dec_/)
    await desk.approve()
    expect(await pay(40)).toBe('ran')
    expect(await desk.statuses()).toEqual(['confirmed'])
  })

  it('goes on where the action has paused', async () => {
    const desk = await startDesk()
    const { pay, client } = desk.process()
    await pay(40)
    await desk.approve()
    const guards = client.enforcement()
    const question = { action: desk.action, resource: 'order:8812', context: { amount: 40, currency: 'EUR' } }
    const admission = await guards.admit(question)
    admission.begin()
    admission.pause()
    expect(await pay(40)).toBe('ran')
    expect(await desk.statuses()).toEqual(['confirmed'])
  })
})

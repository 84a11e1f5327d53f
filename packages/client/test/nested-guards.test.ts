/** Guards within guards: one decision for one run, asked by the outer one, and never by a run that has ended. */

import { answerDecision, type StubAnswer, type StubDecisionPoint, startStubDecisionPoint } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Countersign as OverFetch } from '../src/index.js'
import {
  Countersign,
  type EnforcementOptions,
  type EnforcementPoint,
  type GuardOptions,
  type GuardRequest,
  type GuardRun,
} from '../src/index-node.js'
import { asked, deciding, denialOf, except, listener, told } from './enforcing.js'
import { API_KEY, rejectionOf } from './transports.js'

const share = { nested: 'share' } as const
const refund = { ...asked, context: { amount: 5, to: { iban: 'DE1', name: 'A' } } }

/** As an integration guards: by a point of its own. */
async function within<Result>(
  client: Countersign | OverFetch,
  question: GuardRequest,
  action: (given: unknown, run: GuardRun) => Result,
  { nested, signal, ...options }: GuardOptions = {},
): Promise<Awaited<Result>> {
  const own = client.enforcement(options)
  const admission = await own.admit(question, { nested, signal })
  return own.run(admission, (run) => action(admission.asked, run))
}

describe('a guard within a guard', () => {
  let stub: StubDecisionPoint
  let client: Countersign
  let point: EnforcementPoint
  beforeEach(async () => {
    stub = await startStubDecisionPoint(answerDecision())
    deciding({ stub }, 'allow')
    client = new Countersign({ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 })
    point = client.enforcement()
  })
  afterEach(async () => {
    client.close()
    await stub.close()
  })
  const askCount = (): number => stub.requests.filter(({ url }) => url === '/v1/decisions').length

  it('about the very same shares its decision: asked once, settled once, and both run', async () => {
    const { events, onEvent } = listener()
    const inner = vi.fn((_asked: unknown, { decision }: GuardRun) => decision?.id ?? '')
    const outer = await client.guard(refund, async (_asked, { decision, permit_token }) => {
      // Members in another order, after other work, on another point of the client.
      await new Promise((resolve) => setImmediate(resolve))
      const { agent_id, action, resource } = asked
      const same = { context: { to: { name: 'A', iban: 'DE1' }, amount: 5 }, resource, action, agent_id }
      const shared = await within(client, same, (given, run) => inner(given, run) + run.permit_token, {
        ...share,
        onEvent,
      })
      expect(shared).toBe(decision.id + permit_token)
      return decision.id
    })
    expect([askCount(), inner.mock.results[0]?.value]).toEqual([1, outer])
    expect(told(stub)).toEqual([['confirm', {}]])
    expect(events).toEqual([])
  })

  it('asks for itself unless it says otherwise', async () => {
    await client.guard(refund, () => client.guard(refund, () => 1))
    expect([askCount(), told(stub).length]).toEqual([2, 2])
  })

  it('shares one decision through as many guards as there are around one run', async () => {
    const innermost = () => within(client, refund, (_asked, run) => run.setAmount(3), share)
    await client.guard(refund, () => within(client, refund, innermost, share))
    expect([askCount(), told(stub)]).toEqual([1, [['confirm', { amount: 3 }]]])
  })

  it('asks for itself each time that a function calls itself, also by way of another guard', async () => {
    const other = client.enforcement()
    const pay = async (times: number): Promise<number> => {
      const by = times % 2 === 0 ? other : point
      return by.run(await by.admit(refund, share), () => (times > 1 ? pay(times - 1) : 1))
    }
    await pay(6)
    // Two guards around one run share; every run has a decision.
    expect(askCount()).toBe(3)
    const same = async (times: number): Promise<number> =>
      point.run(await point.admit(refund, share), () => (times > 1 ? same(times - 1) : 1))
    await same(4)
    expect(askCount()).toBe(3 + 4)
  })

  it('is told what it cost where the outer one does not say', async () => {
    const inner = (amount: number) => within(client, refund, (_asked, run) => run.setAmount(amount), share)
    await client.guard(refund, () => inner(3))
    await client.guard(refund, (_asked, run) => {
      run.setAmount(4)
      return inner(3)
    })
    expect(told(stub).map(([, body]) => body)).toEqual([{ amount: 3 }, { amount: 4 }])
  })

  const lost = Object.assign(new Error('read'), { code: 'ECONNRESET' })
  const paying = () => within(client, refund, () => 'paid', share)
  const failing = () => within(client, refund, () => Promise.reject(new Error('no such card')), share)
  const losing = () => within(client, refund, () => Promise.reject(lost), share)
  const fail = async () => {
    throw new Error('after that')
  }
  it.each<[string, () => Promise<unknown>, readonly string[]]>([
    ['is confirmed where both succeeded', paying, ['confirm']],
    ['is rejected where both failed', failing, ['reject']],
    ['is confirmed where the inner one paid and the outer one failed', () => paying().then(fail), ['confirm']],
    ['is left where the inner one failed and the outer one went on', () => failing().catch(() => 'on'), []],
    ['is left where the inner one lost its answer and the outer one failed', () => losing().catch(fail), []],
    ['is left where the inner one lost its answer and the outer one went on', () => losing().catch(() => 'on'), []],
    [
      'is left where the inner one still runs',
      async () => void within(client, refund, () => new Promise(() => undefined), share),
      [],
    ],
    [
      'is left where the inner one still runs and the outer one failed',
      () => {
        void within(client, refund, () => new Promise(() => undefined), share)
        return new Promise((resolve) => setImmediate(resolve)).then(fail)
      },
      [],
    ],
  ])('%s', async (_how, action, moves) => {
    await client
      .guard(refund, () =>
        action().then(async (value) => {
          await new Promise((resolve) => setImmediate(resolve))
          return value
        }),
      )
      .catch(() => undefined)
    expect(askCount()).toBe(1)
    expect(told(stub).map(([move]) => move)).toEqual(moves)
  })

  it.each<[string, object]>([
    ['another amount', { context: { ...refund.context, amount: 6 } }],
    ['an amount that is a text', { context: { ...refund.context, amount: '5' } }],
    ['one fact more', { context: { ...refund.context, note: null } }],
    ['no facts', { context: null }],
    ['another agent', { agent_id: 'agent:root' }],
    ['another action', { action: 'payment.refund.all' }],
    ['another resource', { resource: 'order:8813' }],
    ['no resource', { resource: null }],
  ])('asks for itself about %s', async (_what, change) => {
    await client.guard(refund, () => within(client, { ...refund, ...change }, () => 1, share))
    expect([askCount(), told(stub).length]).toEqual([2, 2])
  })

  it('asks for itself the second time: one run is one run, one after the other and at once', async () => {
    const inner = () => within(client, refund, () => 1, share)
    await client.guard(refund, async () => {
      await inner()
      await inner()
    })
    expect(askCount()).toBe(2)
    await client.guard(refund, () => Promise.all([inner(), inner(), inner()]))
    expect([askCount(), told(stub).length]).toEqual([5, 5])
  })

  it('asks for itself within a guard about something else', async () => {
    await client.guard(refund, () =>
      client.guard({ ...asked, action: 'card.read' }, () => within(client, refund, () => 1, share)),
    )
    expect(askCount()).toBe(3)
  })

  it('asks for itself of another client', async () => {
    const other = new Countersign({ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 })
    await client.guard(refund, () => within(other, refund, () => 1, share))
    expect(askCount()).toBe(2)
    other.close()
  })

  it('takes no other word for how it is nested', async () => {
    expect(await denialOf(client.guard(refund, () => 1, { nested: 'never' as never }))).toMatchObject({
      reason: 'mapping_failed',
    })
    expect(askCount()).toBe(0)
  })

  it.each<[string, EnforcementOptions, EnforcementOptions, number]>([
    ['an observing guard within one that enforces shares', {}, { mode: 'observe' }, 1],
    ['two that observe share', { mode: 'observe' }, { mode: 'observe' }, 1],
    ['one that enforces asks within one that observes', { mode: 'observe' }, {}, 2],
    ['what runs at most once asks within what may run again', {}, { runs: 'at-most-once' }, 2],
    ['what runs at most once is redeemed once', { runs: 'at-most-once' }, { runs: 'at-most-once' }, 1],
  ])('%s', async (_what, outer, inner, count) => {
    const lifecycle = deciding({ stub }, 'allow')
    const redeemed: StubAnswer = (request, response) =>
      lifecycle.answer({ ...request, method: 'GET', url: `/v1/decisions/${lifecycle.ids().at(-1)}` }, response)
    stub.answer(except(lifecycle, '/redeem', redeemed))
    await client.guard(refund, () => within(client, refund, () => 1, { ...share, ...inner }), outer)
    expect(askCount()).toBe(count)
    expect(stub.requests.filter(({ url }) => url.endsWith('/redeem')).length).toBe(
      [outer, inner].some(({ runs }) => runs === 'at-most-once') ? 1 : 0,
    )
  })

  it('runs nothing within a guard that only observes a denial', async () => {
    deciding({ stub }, 'deny')
    const inner = vi.fn()
    await client.guard(refund, () => rejectionOf(within(client, refund, inner, share)), { mode: 'observe' })
    expect(inner).not.toHaveBeenCalled()
  })

  describe('whose outer guard', () => {
    /** The decision point denies from now on: whatever runs now runs by an old decision. */
    const lateCall = async (action: () => unknown) => {
      deciding({ stub }, 'deny')
      return denialOf(within(client, refund, action, share))
    }
    const action = vi.fn()
    beforeEach(() => action.mockClear())

    it.each<[string, () => unknown]>([
      ['has ended', () => 'done'],
      ['has failed', () => Promise.reject(new Error('no such card'))],
    ])('%s runs nothing by its decision', async (_how, end) => {
      let leaked: (() => Promise<unknown>) | undefined
      let open = (): void => undefined
      const ended = new Promise<void>((resolve) => {
        open = resolve
      })
      await client
        .guard(refund, () => {
          // Goes on behind the back of the action, in its context.
          const late = ended.then(() => lateCall(action))
          leaked = () => late
          return end()
        })
        .catch(() => undefined)
      open()
      expect(await leaked?.()).toMatchObject({ reason: 'denied' })
      expect(action).not.toHaveBeenCalled()
    })

    it('ended between admitting and beginning runs nothing', async () => {
      let admitted: Promise<Awaited<ReturnType<EnforcementPoint['admit']>>> | undefined
      await within(client, refund, async () => {
        admitted = point.admit(refund, share)
        await admitted
      })
      const admission = await admitted
      expect(() => admission?.begin()).toThrow('(settled, decision ')
      expect(admission && (await denialOf(point.run(admission, action)))).toMatchObject({ reason: 'already_claimed' })
      expect([askCount(), action.mock.calls.length]).toEqual([1, 0])
    })

    it('has not begun shares nothing', async () => {
      const admission = await point.admit(refund)
      expect(await point.within(admission, () => lateCall(action))).toMatchObject({ reason: 'denied' })
      expect(action).not.toHaveBeenCalled()
    })

    it.each<[string, (admission: Awaited<ReturnType<EnforcementPoint['admit']>>) => unknown]>([
      ['is paused', (admission) => admission.pause()],
      ['is confirmed by hand', ({ settle }) => settle.confirm()],
      ['is rejected by hand', ({ settle }) => settle.reject()],
      ['is left by hand', ({ settle }) => settle.leave()],
    ])('%s shares nothing', async (_how, change) => {
      const admission = await point.admit(refund, { idempotencyKey: 'job-1', holder: 'run-1' })
      admission.begin()
      await change(admission)
      expect(await point.within(admission, () => lateCall(action))).toMatchObject({ reason: 'denied' })
      expect(action).not.toHaveBeenCalled()
    })

    it('is over by the clock shares nothing, and what it has shared does not begin', async () => {
      let now = Date.now()
      const timed = client.enforcement({ now: () => now })
      const first = await timed.admit(refund)
      first.begin()
      const shared = await timed.within(first, () => client.enforcement({ now: () => now }).admit(refund, share))
      const second = await timed.admit(refund)
      second.begin()
      now += 3_600_000
      expect(() => shared.begin()).toThrow('(expired, decision ')
      expect(await timed.within(second, () => lateCall(action))).toMatchObject({ reason: 'denied' })
      expect(action).not.toHaveBeenCalled()
    })

    it('goes on is not begun twice by one that it has shared with', async () => {
      const admission = await point.admit(refund)
      admission.begin()
      const shared = await point.within(admission, () => client.enforcement().admit(refund, share))
      shared.begin()
      expect(() => shared.begin()).toThrow('(already_claimed')
      await shared.settle.confirm({ amount: 2 })
      await admission.settle.reject('it is not for one alone to say')
      expect([askCount(), told(stub)]).toEqual([1, [['confirm', { amount: 2 }]]])
    })

    it('goes on is not settled by one that was aborted, or paused', async () => {
      const controller = new AbortController()
      await within(client, refund, async () => {
        const shared = await point.admit(refund, { ...share, signal: controller.signal })
        controller.abort(new Error('changed my mind'))
        expect(() => shared.begin()).toThrow('changed my mind')
        expect(await rejectionOf(point.admit(refund, { ...share, signal: controller.signal }))).toMatchObject({
          message: 'changed my mind',
        })
      })
      await within(client, refund, async () => {
        const shared = await point.admit(refund, share)
        shared.begin()
        shared.pause()
      })
      expect([askCount(), told(stub)]).toEqual([2, [['confirm', {}]]])
    })
  })

  it('asks for itself where the platform cannot follow what is awaited', async () => {
    const overFetch = new OverFetch({ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 })
    await overFetch.guard(refund, () => within(overFetch, refund, () => 1, share))
    expect([askCount(), told(stub).length]).toEqual([2, 2])
  })
})

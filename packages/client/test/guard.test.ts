/** What runs behind a guard, over the wire: once when it may, and else never. */
import { inspect } from 'node:util'
import {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerNever,
  answerNothing,
  answerProblem,
  answerReset,
  answerText,
  decisionAbout,
  type StubAnswer,
} from '@countersign/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  ApiError,
  type Countersign,
  DeniedError,
  type DeniedReason,
  type EnforcementOptions,
  type GuardOptions,
  UnavailableError,
} from '../src/index.js'
import { asked, deciding, denialOf, except, listener, told } from './enforcing.js'
import { memoryClient, permission, type Sent, settled } from './memory-client.js'
import { describeTransports, rejectionOf } from './transports.js'

const PERMIT = decisionAbout(asked).permit_token ?? ''

describeTransports('guard', (rig) => {
  it('runs an allowed action once, with a frozen copy of what was asked about, and confirms it', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const { events, onEvent, types } = listener()
    const context = { amount: 42.5, lines: [{ id: 'a' }] }
    const action = vi.fn(async (given: { context: typeof context }) => given.context.amount)
    expect(await open().guard({ ...asked, context }, action, { onEvent, settleTimeoutMs: 10_000 })).toBe(42.5)
    expect(action).toHaveBeenCalledTimes(1)
    const [given, run] = action.mock.calls[0] as unknown as [object, { decision: object; permit_token: string }]
    expect(given).toEqual({ ...asked, context })
    expect(Object.isFrozen(given)).toBe(true)
    expect(run.permit_token).toBe(PERMIT)
    expect(run.decision).toMatchObject({ ...asked, status: 'authorized' })
    expect(Object.isFrozen(run.decision)).toBe(true)
    expect(told(stub)).toEqual([['confirm', {}]])
    expect(types()).toEqual(['decision', 'settled'])
    expect(events[1]).toMatchObject({ settlement: { settle: 'confirm' } })
  })

  it('runs and settles what is only logged', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'log')
    expect(await open().guard(asked, () => 'done')).toBe('done')
    expect(told(stub)).toEqual([['confirm', {}]])
  })

  it('asks with a holder and a key of its own, and with those that it is given', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    await open().guard(asked, () => 1)
    await open().guard(asked, () => 1, { holder: 'run-77', idempotencyKey: 'run-77/1' })
    const [first, second] = stub.requests.filter(({ url }) => url === '/v1/decisions')
    expect(JSON.parse(first?.body ?? '')).toEqual({ ...asked, holder: expect.stringMatching(/^.{16,64}$/) })
    expect(JSON.parse(second?.body ?? '')).toEqual({ ...asked, holder: 'run-77' })
    expect(second?.headers['idempotency-key']).toBe('run-77/1')
  })

  it('asks for the agent of the client', async () => {
    deciding(rig(), 'allow')
    const { agent_id } = asked
    const given = await rig()
      .open({ agentId: agent_id })
      .guard({ action: 'order.read' }, (one) => one)
    expect(given).toEqual({ agent_id, action: 'order.read', resource: null, context: null })
  })

  it.each<[string, StubAnswer, DeniedReason]>([
    ['a deny', answerDecision({ effect: 'deny', status: 'denied', permit_token: undefined }), 'denied'],
    ['a deny with a permit', answerDecision({ effect: 'deny', status: 'denied' }), 'denied'],
    [
      'a review',
      answerDecision({ effect: 'review', status: 'awaiting_review', permit_token: undefined }),
      'review_required',
    ],
    ['a review with a permit', answerDecision({ effect: 'review', status: 'awaiting_review' }), 'review_required'],
    ['a decision that was declined', answerDecision({ effect: 'review', status: 'declined' }), 'declined'],
    ['a decision that expired', answerDecision({ status: 'expired' }), 'expired'],
    ['a decision that is over', answerDecision({ expires_at: '2020-01-01T00:00:00.000Z' }), 'expired'],
    ['a decision that was confirmed', answerDecision({ status: 'confirmed' }), 'settled'],
    ['a decision that was rejected', answerDecision({ status: 'rejected' }), 'settled'],
    [
      'a decision that was withdrawn',
      answerDecision({ effect: 'review', status: 'rejected', review: { status: 'withdrawn' } }),
      'withdrawn',
    ],
    ['an allow without a permit', answerDecision({ permit_token: undefined }), 'agent_suspended'],
    ['a decision of another holder', answerProblem(409, 'already_claimed'), 'already_claimed'],
    ['a decision for another agent', answerDecision({ agent_id: 'agent:root' }), 'unavailable'],
    ['a decision for another action', answerDecision({ action: 'payment.read' }), 'unavailable'],
    ['a decision for another resource', answerDecision({ resource: 'order:1' }), 'unavailable'],
    ['a decision for no resource', answerDecision({ resource: null }), 'unavailable'],
    ['an unknown effect', answerDecision({ effect: 'permit' }), 'unavailable'],
    ['an unknown status', answerDecision({ status: 'running' }), 'unavailable'],
    ['a denied effect that is authorized', answerDecision({ effect: 'deny' }), 'unavailable'],
    ['no status', answerDecision({ status: undefined }), 'unavailable'],
    ['text', answerText(200, 'allow'), 'unavailable'],
    ['true', answerJson(200, true), 'unavailable'],
    ['a list', answerJson(200, [decisionAbout(asked)]), 'unavailable'],
    ['nothing', answerNothing, 'unavailable'],
    ['half an answer', answerCutOff, 'unavailable'],
    ['an answer without end', answerHuge(20 * 1024 * 1024), 'unavailable'],
    ['a reset', answerReset, 'unavailable'],
    ['a redirect', answerText(307, '', { location: '/v1/elsewhere' }), 'unavailable'],
    ['500', answerProblem(500, 'internal_error'), 'unavailable'],
    ['a decision with status 500', answerJson(500, decisionAbout(asked)), 'unavailable'],
    ['503', answerProblem(503, 'store_unavailable', { 'retry-after': '7' }), 'unavailable'],
    ['429', answerProblem(429, 'rate_limited', { 'retry-after': '7' }), 'unavailable'],
    ['a key that is not known', answerProblem(401, 'unauthorized'), 'refused'],
    ['a key for other agents', answerProblem(403, 'agent_not_allowed'), 'refused'],
    ['a question that cannot be', answerProblem(400, 'validation_failed'), 'refused'],
    ['a question that is too large', answerProblem(413, 'body_too_large'), 'refused'],
    ['a key with another question', answerProblem(422, 'idempotency_key_reused'), 'refused'],
    ['a code that is not known', answerProblem(418, 'allowed'), 'refused'],
  ])('runs nothing on %s', async (_what, answer, reason) => {
    const { stub, open } = rig()
    const moved: StubAnswer = (request, response) =>
      answerJson(200, { ...decisionAbout(asked), id: request.url.split('/').at(-2) })(request, response)
    stub.answer(answer, moved)
    const client = open()
    const action = vi.fn()
    const { events, onEvent } = listener()
    const error = await denialOf(client.guard(asked, action, { onEvent }))
    expect(error).toMatchObject({ name: 'DeniedError', reason })
    expect(action).not.toHaveBeenCalled()
    expect(events.at(-1)).toMatchObject({ type: 'denied', reason, asked, error })
    if (error.cause instanceof ApiError && [429, 503].includes(error.cause.status))
      expect(error.retryAfterSeconds).toBe(7)
    await client.flush()
    // What was permitted and cannot run any more is given back; nothing else is settled.
    expect(told(stub).map(([transition]) => transition)).toEqual(
      reason === 'agent_suspended' || _what === 'a decision that is over' ? ['reject'] : [],
    )
  })

  it('tells its caller in time when the decision point hangs or is gone', async () => {
    const { stub, open } = rig()
    const action = vi.fn()
    stub.answer(answerNever)
    const hung = await denialOf(open().guard(asked, action, { timeoutMs: 200 }))
    expect(hung).toMatchObject({ reason: 'unavailable', decision_id: null, cause: expect.any(UnavailableError) })
    expect(hung.cause).toMatchObject({ kind: 'timeout', message: expect.stringContaining('within 200 ms') })
    await stub.close()
    const gone = await denialOf(open().guard(asked, action, { timeoutMs: 15_000 }))
    expect(gone).toMatchObject({ reason: 'unavailable', cause: { kind: 'connection' } })
    expect(action).not.toHaveBeenCalled()
  })

  it('has neither permit nor policy in what it throws and tells', async () => {
    const { stub, open } = rig()
    const { events, onEvent } = listener()
    deciding(rig(), 'allow')
    const pictures: string[] = []
    const see = (...given: unknown[]): void => void pictures.push(inspect(given, { depth: 20, showHidden: true }))
    await open().guard(asked, see, { onEvent })
    stub.answer(answerDecision({ effect: 'deny', status: 'denied', reason: 'SECRET RULE', policy_id: 'pol_SECRET' }))
    const error = await denialOf(open().guard(asked, () => 1, { onEvent }))
    expect(JSON.stringify([error, error.message, Object.entries(error)])).not.toContain('SECRET')
    expect(error.message).toContain(error.decision_id ?? 'none')
    see(events)
    expect(pictures.join()).toContain('authorized')
    expect(pictures.join()).not.toContain(PERMIT)
  })

  it('has the advice of the decision point for the caller', async () => {
    const { stub, open } = rig()
    const advice = { retry: 'never', message: 'Ask a person.' }
    stub.answer(answerDecision({ effect: 'deny', status: 'denied', advice }))
    expect((await denialOf(open().guard(asked, () => 1))).advice).toEqual(advice)
  })

  it('has no advice to wait for a person who has answered', async () => {
    const { stub, open } = rig()
    const advice = { retry: 'after_approval', message: 'A person has to approve this.' }
    stub.answer(answerDecision({ effect: 'review', status: 'declined', advice, permit_token: undefined }))
    const declined = await denialOf(open().guard(asked, () => 1))
    expect(declined).toMatchObject({ reason: 'declined', advice: null })
    expect(declined.message).toContain('A person has declined this action.')
  })

  it.each<[string, unknown]>([
    ['a big integer', { amount: 10n }],
    [
      'what is circular',
      (() => {
        const self: { self?: unknown } = {}
        self.self = self
        return self
      })(),
    ],
    ['NaN', { amount: Number.NaN }],
    ['an accessor', Object.defineProperty({}, 'amount', { get: () => 1, enumerable: true })],
  ])('sends nothing and runs nothing for a context with %s', async (_what, context) => {
    const { stub, open } = rig()
    const action = vi.fn()
    const error = await denialOf(open().guard({ ...asked, context } as never, action))
    expect(error).toMatchObject({ reason: 'mapping_failed', decision_id: null, cause: expect.any(TypeError) })
    expect(action).not.toHaveBeenCalled()
    expect(stub.connectionCount()).toBe(0)
  })

  it.each<[string, object, object]>([
    ['another agent than the client has', { agent_id: 'agent:root' }, {}],
    ['a member that is misspelt', { contxt: {} }, {}],
    ['a key that is empty', {}, { idempotencyKey: '' }],
    ['a holder that is empty', {}, { holder: '' }],
    ['a holder that is none', {}, { holder: 5 }],
    ['a signal that is none', {}, { signal: 'abort' }],
  ])('sends nothing and runs nothing for %s', async (_what, request, options) => {
    const { stub, open } = rig()
    const action = vi.fn()
    const guarding = open({ agentId: asked.agent_id }).guard({ ...asked, ...request }, action, options)
    expect(await denialOf(guarding)).toMatchObject({ reason: 'mapping_failed' })
    expect(action).not.toHaveBeenCalled()
    expect(stub.connectionCount()).toBe(0)
  })

  it('refuses faulty options before anything is sent', async () => {
    const { stub, open } = rig()
    for (const options of [{ onUnavailable: 'allow' }, { mode: 'off' }, { failMode: 'open' }]) {
      expect(await rejectionOf(open().guard(asked, () => 1, options as never))).toBeInstanceOf(TypeError)
    }
    expect(await rejectionOf(open().guard(asked, 'action' as never))).toBeInstanceOf(TypeError)
    expect(stub.connectionCount()).toBe(0)
  })

  it('holds expires_at against its clock right before the action', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const client = open()
    const action = vi.fn()
    const now = () => Date.now() + 700_000
    expect(await denialOf(client.guard(asked, action, { now }))).toMatchObject({ reason: 'expired' })
    expect(await denialOf(client.guard(asked, action, { now: () => Number.NaN }))).toMatchObject({ reason: 'expired' })
    expect(action).not.toHaveBeenCalled()
    await client.flush()
    expect(told(stub).map(([transition]) => transition)).toEqual(['reject', 'reject'])
  })
})

describeTransports('guard and an abort', (rig) => {
  it('before anything is asked asks nothing', async () => {
    const { stub, open } = rig()
    const signal = AbortSignal.abort(new Error('gone'))
    expect(await rejectionOf(open().guard(asked, () => 1, { signal }))).toBe(signal.reason)
    expect(stub.connectionCount()).toBe(0)
  })

  it('before the answer runs nothing, tells the caller at once and takes the decision back when it comes', async () => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'allow')
    let answer = (): void => undefined
    stub.answer(
      except(lifecycle, '/v1/decisions', (request, response) => {
        answer = () => lifecycle.answer(request, response)
      }),
    )
    const client = open()
    const controller = new AbortController()
    const action = vi.fn()
    const asking = stub.nextRequest()
    const guarding = client.guard(asked, action, { signal: controller.signal, idempotencyKey: 'job-1' })
    await asking
    controller.abort(new Error('the caller left'))
    expect(await rejectionOf(guarding)).toBe(controller.signal.reason)
    expect(told(stub)).toEqual([])
    answer()
    expect(await client.flush()).toBe(0)
    expect(told(stub)).toEqual([['reject', { reason: 'it did not begin' }]])
    expect(action).not.toHaveBeenCalled()
  })

  it('while it waits for a review runs nothing; what nobody can ask for again is withdrawn', async () => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'review')
    const client = open()
    const action = vi.fn()
    for (const idempotencyKey of [undefined, 'job-2']) {
      const controller = new AbortController()
      const guarding = client.guard(asked, action, { signal: controller.signal, review: 'wait', idempotencyKey })
      const outcome = rejectionOf(guarding)
      while (lifecycle.waitingCount() === 0) await stub.nextRequest()
      controller.abort()
      expect(await outcome).toBe(controller.signal.reason)
      await client.flush()
      while (lifecycle.waitingCount() > 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(told(stub)).toEqual([['reject', { reason: 'it did not begin' }]])
    expect(action).not.toHaveBeenCalled()
  })

  it.each([
    [
      'fails',
      async () => {
        throw new Error('cut')
      },
      [],
    ],
    ['succeeds all the same', async () => 'paid', [['confirm', {}]]],
  ])('during the action, which then %s', async (_how, end, settlements) => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const controller = new AbortController()
    const guarding = open().guard(
      asked,
      async (_asked, { signal }) => {
        controller.abort()
        expect(signal).toBe(controller.signal)
        return end()
      },
      { signal: controller.signal },
    )
    await guarding.catch(() => undefined)
    expect(told(stub)).toEqual(settlements)
  })

  it('by who is told of the answer runs nothing and takes the decision back', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const controller = new AbortController()
    const client = open()
    const point = client.enforcement({
      onEvent: ({ type }) => type === 'decision' && controller.abort(new Error('no')),
    })
    expect(await rejectionOf(point.admit(asked, { signal: controller.signal }))).toBe(controller.signal.reason)
    await client.flush()
    expect(told(stub)).toEqual([['reject', { reason: 'it did not begin' }]])
  })

  it('leaves no listener behind', async () => {
    const { open } = rig()
    deciding(rig(), 'allow')
    const controller = new AbortController()
    const added = vi.spyOn(controller.signal, 'addEventListener')
    const removed = vi.spyOn(controller.signal, 'removeEventListener')
    await open().guard(asked, () => 1, { signal: controller.signal })
    expect(removed.mock.calls.length).toBe(added.mock.calls.length)
  })
})

describeTransports('guard and a review', (rig) => {
  it('waits for it where the options say so, and runs once a person has approved', async () => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'review')
    const client = open()
    const { types, onEvent } = listener()
    const guarding = client.guard(asked, (_asked, { decision }) => decision?.status, {
      review: 'wait',
      holder: 'run-77',
      settleTimeoutMs: 10_000,
      onEvent,
    })
    while (lifecycle.waitingCount() === 0) await stub.nextRequest()
    lifecycle.change(lifecycle.ids()[0] ?? '', { status: 'approved' })
    expect(await guarding).toBe('authorized')
    const [claim] = stub.requests.filter(({ url }) => url.endsWith('/claim'))
    expect(JSON.parse(claim?.body ?? '')).toEqual({ holder: 'run-77' })
    expect(types()).toEqual(['decision', 'decision', 'settled'])
    expect(told(stub)).toEqual([['confirm', {}]])
  })

  it('takes up what was approved meanwhile when it is asked again, without waiting', async () => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'review')
    const client = open()
    const first = await denialOf(client.guard(asked, () => 1, { idempotencyKey: 'job-1' }))
    expect(first).toMatchObject({ reason: 'review_required', decision_id: lifecycle.ids()[0] })
    lifecycle.change(first.decision_id ?? '', { status: 'approved' })
    const replay: StubAnswer = (request, response) =>
      lifecycle.answer({ ...request, method: 'GET', url: `/v1/decisions/${first.decision_id}` }, response)
    stub.answer(except(lifecycle, '/v1/decisions', replay))
    expect(await client.guard(asked, () => 'ran', { idempotencyKey: 'job-1' })).toBe('ran')
  })

  it.each<[string, object, DeniedReason]>([
    ['is declined', { status: 'declined' }, 'declined'],
    ['expires', { status: 'expired' }, 'expired'],
    ['was settled', { status: 'confirmed' }, 'settled'],
    ['is permitted to somebody else', { status: 'authorized', agent_id: 'agent:root' }, 'unavailable'],
  ])('runs nothing when it %s', async (_how, change, reason) => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'review')
    const action = vi.fn()
    const denial = denialOf(open().guard(asked, action, { review: 'wait', idempotencyKey: 'job-1' }))
    while (lifecycle.waitingCount() === 0) await stub.nextRequest()
    lifecycle.change(lifecycle.ids()[0] ?? '', change)
    expect(await denial).toMatchObject({ reason, decision_id: lifecycle.ids()[0] })
    expect(action).not.toHaveBeenCalled()
  })

  it.each<DeniedReason>(['already_claimed', 'policy_denies', 'agent_suspended', 'permit_already_used'])(
    'runs nothing when its claim is refused: %s',
    async (code) => {
      const { stub, open } = rig()
      const lifecycle = deciding(rig(), 'review')
      stub.answer(except(lifecycle, '/claim', answerProblem(409, code)))
      const action = vi.fn()
      const denial = denialOf(open().guard(asked, action, { review: 'wait', idempotencyKey: 'job-1' }))
      while (lifecycle.waitingCount() === 0) await stub.nextRequest()
      lifecycle.change(lifecycle.ids()[0] ?? '', { status: 'approved' })
      expect(await denial).toMatchObject({ reason: code })
      expect(action).not.toHaveBeenCalled()
    },
  )

  it('tells its caller in time when what was approved cannot be claimed', async () => {
    const { stub, open } = rig()
    const approved = answerDecision({ effect: 'review', status: 'approved', permit_token: undefined })
    const action = vi.fn()
    stub.answer(approved, answerNever)
    const denied = await denialOf(open({ timeoutMs: 200 }).guard(asked, action))
    expect(denied).toMatchObject({ reason: 'unavailable', cause: { kind: 'timeout' } })
    expect(denied.cause).toMatchObject({ message: expect.stringContaining('within 200 ms') })
    expect(action).not.toHaveBeenCalled()
  })

  it('runs nothing when nobody has answered within the time limit', async () => {
    const { open } = rig()
    deciding(rig(), 'review')
    const action = vi.fn()
    const options: EnforcementOptions = { review: 'wait', reviewTimeoutMs: 150 }
    expect(await denialOf(open().guard(asked, action, options))).toMatchObject({ reason: 'review_required' })
    expect(action).not.toHaveBeenCalled()
  })
})

describeTransports('a decision that comes twice', (rig) => {
  it('is run once in one process, also for the same key and holder', async () => {
    const { stub, open } = rig()
    stub.answer(answerDecision())
    const client = open()
    const action = vi.fn(async () => 'ran')
    const again: GuardOptions = { idempotencyKey: 'job-1', holder: 'run-77' }
    const settled = await Promise.allSettled(Array.from({ length: 20 }, () => client.guard(asked, action, again)))
    expect(action).toHaveBeenCalledTimes(1)
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const one of settled) {
      if (one.status === 'rejected')
        expect(one.reason).toMatchObject({ name: 'DeniedError', reason: 'already_claimed' })
    }
  })

  it.each<[string, (first: Countersign) => Countersign]>([
    ['one client', (first) => first],
    ['two clients', () => rig().open()],
    [
      'two clients that know the decision point by two URLs',
      () => rig().open({ baseUrl: `${rig().stub.url}/proxied` }),
    ],
  ])('is not run again by %s when an answer is late and says that it may', async (_who, other) => {
    const { stub, open } = rig()
    stub.answer(answerJson(200, decisionAbout(asked)))
    const client = open()
    const action = vi.fn()
    const again = { idempotencyKey: 'job-1', holder: 'run-77' }
    await client.guard(asked, action, again)
    expect(await denialOf(other(client).guard(asked, action, again))).toMatchObject({ reason: 'already_claimed' })
    expect(action).toHaveBeenCalledTimes(1)
  })

  it('is not run again after its end was left open', async () => {
    const { stub, open } = rig()
    stub.answer(answerDecision())
    const client = open()
    const timeout = new DOMException('too slow', 'TimeoutError')
    expect(
      await rejectionOf(
        client.guard(asked, () => Promise.reject(timeout), { idempotencyKey: 'job-1', holder: 'run-77' }),
      ),
    ).toBe(timeout)
    expect(told(stub)).toEqual([])
    const again = client.guard(asked, () => 'ran', { idempotencyKey: 'job-1', holder: 'run-77' })
    expect(await denialOf(again)).toMatchObject({ reason: 'already_claimed' })
    expect(told(stub)).toEqual([])
  })
})

describeTransports('the mode observe', (rig) => {
  it.each<[string, StubAnswer, string, DeniedReason | null, string[]]>([
    ['an allow', answerDecision(), 'allow', null, ['confirm']],
    ['a deny', answerDecision({ effect: 'deny', status: 'denied' }), 'deny', 'denied', []],
    ['a review', answerDecision({ effect: 'review', status: 'awaiting_review' }), 'review', 'review_required', []],
    ['a settled decision', answerDecision({ status: 'confirmed' }), 'deny', 'settled', []],
    ['another holder', answerProblem(409, 'already_claimed'), 'deny', 'already_claimed', []],
    ['no answer', answerReset, 'unavailable', 'unavailable', []],
    ['garbage', answerText(200, '<html>'), 'unavailable', 'unavailable', []],
    ['a faulty key', answerProblem(401, 'unauthorized'), 'deny', 'refused', []],
  ])(
    'runs on %s, says what would have been, and settles as far as that goes',
    async (_what, answer, would, reason, transitions) => {
      const { stub, open } = rig()
      stub.answer(answer, answerJson(200, decisionAbout(asked)))
      const { events, onEvent } = listener()
      const action = vi.fn(() => 'ran')
      expect(await open().guard(asked, action, { mode: 'observe', onEvent, review: 'wait' })).toBe('ran')
      expect(action).toHaveBeenCalledTimes(1)
      expect(events.find(({ type }) => type === 'observed')).toMatchObject({ would, reason, asked })
      expect(events.some(({ type }) => type === 'denied')).toBe(false)
      expect(told(stub).map(([transition]) => transition)).toEqual(transitions)
    },
  )

  it('runs what could not even be asked', async () => {
    const { stub, open } = rig()
    const { events, onEvent } = listener()
    const context = { amount: 10n } as never
    expect(await open().guard({ ...asked, context }, (given) => given.context, { mode: 'observe', onEvent })).toBe(
      context,
    )
    expect(events).toMatchObject([{ type: 'observed', would: 'deny', reason: 'mapping_failed', asked: null }])
    expect(stub.connectionCount()).toBe(0)
  })

  it.each([
    ['succeeds', () => Promise.resolve(1)],
    ['fails', () => Promise.reject(new Error('no'))],
  ])(
    'withdraws the review of an action that runs all the same, and tells nothing more when it %s',
    async (_how, run) => {
      const { stub, open } = rig()
      deciding(rig(), 'review')
      const client = open()
      await client.guard(asked, run, { mode: 'observe' }).catch(() => undefined)
      await client.flush()
      expect(told(stub)).toEqual([['reject', { reason: 'it was only observed' }]])
    },
  )

  it('leaves a review that others may ask for again', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'review')
    const client = open()
    await client.guard(asked, () => 1, { mode: 'observe', idempotencyKey: 'job-1' })
    await client.flush()
    expect(told(stub)).toEqual([])
  })

  it('still ends with the abort of the caller', async () => {
    const { open } = rig()
    const action = vi.fn()
    const signal = AbortSignal.abort(new Error('gone'))
    expect(await rejectionOf(open().guard(asked, action, { mode: 'observe', signal }))).toBe(signal.reason)
    expect(action).not.toHaveBeenCalled()
  })
})

describe('a polluted prototype', () => {
  const polluted = {
    mode: 'observe',
    action: 'order.read',
    settle: 'confirm',
    amount: 0,
    bind: [],
    resource: 'order:1',
  }
  afterEach(() => {
    for (const name of Object.keys(polluted)) delete (Object.prototype as Record<string, unknown>)[name]
  })

  it('neither switches enforcement off nor asks about something else', async () => {
    const questions: Sent[] = []
    const client = memoryClient((sent) => {
      questions.push(sent)
      return sent.path === '/v1/decisions' ? permission(sent, { effect: 'deny', status: 'denied' }) : settled(sent)
    })
    for (const [name, value] of Object.entries(polluted)) {
      Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true })
    }
    const action = vi.fn()
    expect(await denialOf(client.guard({ action: 'payment.refund' }, action))).toMatchObject({ reason: 'denied' })
    expect(await denialOf(client.protect(action, {})())).toMatchObject({ reason: 'unmapped' })
    expect(action).not.toHaveBeenCalled()
    expect(questions.map(({ body }) => Object.keys(body).sort())).toEqual([['action', 'agent_id', 'holder']])
  })
})

describe('DeniedError', () => {
  it('is recognised by brand', () => {
    expect(DeniedError.isInstance(new DeniedError('denied'))).toBe(true)
    expect(DeniedError.isInstance(new TypeError('denied'))).toBe(false)
    expect(new DeniedError('unmapped')).toMatchObject({ decision_id: null, advice: null, retryAfterSeconds: null })
    expect('cause' in new DeniedError('denied')).toBe(false)
  })
})

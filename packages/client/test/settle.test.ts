/** What a guarded action is settled by, and that no settlement changes how the action ended. */
import { answerCutOff, answerNever, answerProblem, type StubAnswer } from '@countersign/testkit'
import { expect, it } from 'vitest'
import type { ActionOutcome, Admission, EnforcementOptions, Settlement } from '../src/index.js'
import { asked, deciding, denialOf, except, listener, told } from './enforcing.js'
import { describeTransports, rejectionOf } from './transports.js'

const failure = new Error('card declined')
const timeout = new DOMException('too slow', 'TimeoutError')

describeTransports('a guarded action', (rig) => {
  it.each<[string, () => unknown, unknown[]]>([
    ['that succeeds is confirmed', () => 'paid', [['confirm', {}]]],
    ['that gives undefined is confirmed', () => undefined, [['confirm', {}]]],
    ['that gives an error is confirmed', () => failure, [['confirm', {}]]],
    ['that fails is rejected', () => Promise.reject(failure), [['reject', { reason: 'the action failed' }]]],
    [
      'that throws at once is rejected',
      () => {
        throw failure
      },
      [['reject', { reason: 'the action failed' }]],
    ],
    ['that ran out of time is left', () => Promise.reject(timeout), []],
    [
      'that lost its connection is left',
      () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNRESET' })),
      [],
    ],
  ])('%s', async (_what, action, settlements) => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const client = open()
    const outcome = await client.guard(asked, action).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const plain = await Promise.resolve()
      .then(action)
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
    expect(outcome).toEqual(plain)
    expect(told(stub)).toEqual(settlements)
  })

  it('is confirmed with what it really cost', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    await open().guard(asked, (_asked, { setAmount }) => {
      setAmount(50)
      setAmount(40.5)
    })
    expect(told(stub)).toEqual([['confirm', { amount: 40.5 }]])
  })

  it.each<[string, (outcome: ActionOutcome) => Settlement | undefined, () => unknown, unknown[]]>([
    [
      'by its result',
      (one) => (one.kind === 'succeeded' ? { settle: 'confirm', amount: Number(one.value), note: 'n' } : undefined),
      () => 7,
      [['confirm', { amount: 7, note: 'n' }]],
    ],
    [
      'as something that cost although it failed',
      () => ({ settle: 'confirm', amount: 1 }),
      () => Promise.reject(failure),
      [['confirm', { amount: 1 }]],
    ],
    [
      'as something that did not happen',
      () => ({ settle: 'reject', reason: 'dry run' }),
      () => 1,
      [['reject', { reason: 'dry run' }]],
    ],
    [
      'by an object with a hidden member',
      () => Object.defineProperty({ settle: 'confirm', amount: 2 } as const, '__source', { value: 'ledger' }),
      () => 1,
      [['confirm', { amount: 2 }]],
    ],
    ['not at all', () => ({ settle: 'leave' }), () => 1, []],
    ['by default, where it says nothing', () => undefined, () => 1, [['confirm', {}]]],
    [
      'with a text that is too long',
      () => ({ settle: 'reject', reason: 'x'.repeat(9_000) }),
      () => 1,
      [['reject', { reason: 'x'.repeat(512) }]],
    ],
    [
      'after a timeout that surely did nothing',
      ({ kind }) => (kind === 'unknown' ? { settle: 'reject' } : undefined),
      () => Promise.reject(timeout),
      [['reject', {}]],
    ],
  ])('is settled by settleOn, %s', async (_how, settleOn, action, settlements) => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    await open()
      .guard(asked, action, { settleOn })
      .catch(() => undefined)
    expect(told(stub)).toEqual(settlements)
  })

  it.each<[EnforcementOptions, unknown, unknown[]]>([
    [{ onError: 'leave' }, failure, []],
    [{ onError: 'leave' }, timeout, []],
    [{ onError: 'reject' }, timeout, [['reject', { reason: 'the action failed' }]]],
    [{ onError: 'reject' }, undefined, [['reject', { reason: 'the action failed' }]]],
    [{ onError: 'reject', settleOn: () => ({ settle: 'leave' }) }, failure, []],
    [
      { onError: 'leave', settleOn: () => ({ settle: 'confirm', amount: 0.5 }) },
      failure,
      [['confirm', { amount: 0.5 }]],
    ],
  ])('is settled with %j after %s', async (options, thrown, settlements) => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const outcome = open().guard(asked, () => Promise.reject(thrown), options)
    expect(await outcome.catch((error: unknown) => error)).toBe(thrown)
    expect(told(stub)).toEqual(settlements)
  })

  it.each<EnforcementOptions['onError']>(['leave', 'reject'])(
    'is confirmed by default with onError %s',
    async (onError) => {
      const { stub, open } = rig()
      deciding(rig(), 'allow')
      await open().guard(asked, () => 'paid', { onError })
      expect(told(stub)).toEqual([['confirm', {}]])
    },
  )

  it.each<[string, EnforcementOptions['settleOn'], number | undefined]>([
    [
      'settleOn throws',
      () => {
        throw new Error('oops')
      },
      undefined,
    ],
    ['settleOn gives something else', () => 'confirm' as never, undefined],
    ['settleOn gives a promise', (async () => ({ settle: 'confirm' })) as never, undefined],
    ['settleOn gives an amount that is none', () => ({ settle: 'confirm', amount: Number.NaN }), undefined],
    ['settleOn gives a text that is none', () => ({ settle: 'reject', reason: 5 as never }), undefined],
    ['the amount is negative', undefined, -1],
    ['the amount is a text', undefined, '40' as never],
    ['the amount is infinite', undefined, Number.POSITIVE_INFINITY],
  ])('is left and told of when %s; its result stands', async (_what, settleOn, amount) => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const { events, onEvent } = listener()
    const result = await open().guard(
      asked,
      (_asked, run) => {
        if (amount !== undefined) run.setAmount(amount)
        return 'paid'
      },
      { settleOn, onEvent },
    )
    expect(result).toBe('paid')
    expect(told(stub)).toEqual([])
    expect(events.at(-1)).toMatchObject({
      type: 'settlement_failed',
      settlement: { settle: 'leave' },
      willRetry: false,
      error: expect.any(Error),
    })
  })

  it.each<[string, StubAnswer, number]>([
    ['breaks off', answerCutOff, 2],
    ['does not answer', answerNever, 2],
    ['has a fault', answerProblem(500, 'internal_error'), 2],
    ['refuses', answerProblem(409, 'invalid_transition'), 1],
    ['does not let it', answerProblem(403, 'permit_redeemed'), 1],
  ])('keeps its result and its error when the decision point %s while it settles', async (_how, fault, attempts) => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'allow')
    const { types, onEvent } = listener()
    const client = open()
    for (const [ending, action] of [
      ['/confirm', () => 'paid'],
      ['/reject', () => Promise.reject(failure)],
    ] as const) {
      stub.answer(except(lifecycle, ending, fault, 1))
      const outcome = await client
        .guard<unknown>(asked, action, { onEvent, settleTimeoutMs: fault === answerNever ? 200 : 5_000 })
        .catch((error: unknown) => error)
      expect(outcome).toBe(ending === '/confirm' ? 'paid' : failure)
      // What it waited for is the first attempt, and nothing that came after it.
      expect(types().at(-1)).toBe('settlement_failed')
    }
    expect(await client.flush()).toBe(0)
    expect(told(stub)).toHaveLength(2 * attempts)
    expect(types().filter((type) => type === 'settlement_failed')).toHaveLength(2)
    expect(types().filter((type) => type === 'settled')).toHaveLength(2 * (attempts - 1))
  })
})

describeTransports('an admission', (rig) => {
  const admit = async (options: EnforcementOptions = {}): Promise<Admission> => {
    deciding(rig(), 'allow')
    return rig()
      .open()
      .enforcement({ settleTimeoutMs: 10_000, ...options })
      .admit(asked)
  }

  it('is settled once, by whichever call comes first; the others get its promise', async () => {
    const { settle } = await admit()
    const { confirm, reject, leave, by } = settle
    expect(settle.isCalled).toBe(false)
    const first = confirm({ amount: 3, note: 'done' })
    expect(settle.isCalled).toBe(true)
    for (const later of [reject('no'), leave(), by({ kind: 'failed' }), confirm({ amount: 9 })])
      expect(later).toBe(first)
    expect(await first).toEqual({ settle: 'confirm', state: 'settled' })
    expect(told(rig().stub)).toEqual([['confirm', { amount: 3, note: 'done' }]])
  })

  it.each<[ActionOutcome, unknown[], string]>([
    [{ kind: 'succeeded', amount: 4 }, [['confirm', { amount: 4 }]], 'settled'],
    [{ kind: 'failed', error: failure }, [['reject', { reason: 'the action failed' }]], 'settled'],
    [{ kind: 'unknown' }, [], 'left'],
  ])('is settled by its outcome %j', async (outcome, settlements, state) => {
    const { settle } = await admit()
    expect((await settle.by(outcome)).state).toBe(state)
    expect(told(rig().stub)).toEqual(settlements)
  })

  it('is left when nobody knows and no error tells, whatever onError says', async () => {
    const { settle } = await admit({ onError: 'reject' })
    expect(await settle.by({ kind: 'unknown' })).toEqual({ settle: 'leave', state: 'left' })
    expect(told(rig().stub)).toEqual([])
  })

  it('begins once', async () => {
    const admission = await admit()
    admission.begin()
    expect(() => admission.begin()).toThrow(expect.objectContaining({ reason: 'already_claimed' }))
    expect(admission.settle.isCalled).toBe(false)
  })

  it('tells when it does not begin', async () => {
    const { events, onEvent } = listener()
    const admission = await admit({ onEvent })
    void admission.settle.leave()
    expect(() => admission.begin()).toThrow('settled')
    expect(events.filter(({ type }) => type === 'denied')).toMatchObject([{ reason: 'settled', asked }])
  })

  it('is begun, run and settled by run, for an integration whose action is a function', async () => {
    deciding(rig(), 'allow')
    const point = rig().open().enforcement()
    const admission = await point.admit(asked)
    const run = (): Promise<string> =>
      point.run(admission, ({ setAmount, permit_token }) => {
        setAmount(3)
        return permit_token ?? ''
      })
    expect(await run()).toBe(admission.permit_token)
    expect(await denialOf(run())).toMatchObject({ reason: 'already_claimed' })
    expect(told(rig().stub)).toEqual([['confirm', { amount: 3 }]])
  })

  it('does not begin after it was settled', async () => {
    const admission = await admit()
    void admission.settle.reject('not needed')
    expect(() => admission.begin()).toThrow(expect.objectContaining({ reason: 'settled' }))
  })

  it('does not begin when it is over by then, and is rejected', async () => {
    let nowMs = Date.now()
    const admission = await admit({ now: () => nowMs })
    nowMs += 700_000
    expect(() => admission.begin()).toThrow(
      expect.objectContaining({ reason: 'expired', decision_id: admission.decision?.id }),
    )
    expect(admission.settle.isCalled).toBe(true)
    await admission.settle.confirm()
    expect(told(rig().stub)).toEqual([['reject', { reason: 'it did not begin' }]])
  })

  it('does not begin after an abort, and is rejected', async () => {
    deciding(rig(), 'allow')
    const controller = new AbortController()
    const point = rig().open().enforcement()
    const admission = await point.admit(asked, { signal: controller.signal })
    controller.abort(new Error('gone'))
    expect(() => admission.begin()).toThrow('gone')
    await admission.settle.leave()
    expect(told(rig().stub).map(([move]) => move)).toEqual(['reject'])
  })

  it('maps by a function, whose errors are denials and whose denials are its own', async () => {
    const { stub, open } = rig()
    deciding(rig(), 'allow')
    const point = open().enforcement()
    expect((await point.admit(() => asked)).asked).toEqual({ ...asked, context: null })
    const cause = new Error('no order')
    const failing = point.admit(() => {
      throw cause
    })
    expect(await denialOf(failing)).toMatchObject({ reason: 'mapping_failed', cause })
    expect(await denialOf(point.admit(() => ({ ...asked, action: point.actionOf('send') })))).toMatchObject({
      reason: 'unmapped',
    })
    expect(await denialOf(point.admit((async () => asked) as never))).toMatchObject({ reason: 'mapping_failed' })
    expect(stub.requests).toHaveLength(1)
  })

  it('shows its permit on request, and never in a log', async () => {
    const admission = await admit()
    expect(admission.permit_token).toMatch(/^ey/)
    expect(JSON.stringify([admission, { ...admission }])).not.toContain(admission.permit_token)
  })

  it('cannot be forged into another decision', async () => {
    const admission = await admit()
    expect(() => Object.assign(admission.decision as object, { expires_at: '2999-01-01T00:00:00.000Z' })).toThrow(
      TypeError,
    )
    expect(() => Object.assign(admission.asked as object, { resource: 'order:1' })).toThrow(TypeError)
  })

  it('waits for a settlement no longer than it is told to', async () => {
    const { stub, open } = rig()
    const lifecycle = deciding(rig(), 'allow')
    const client = open()
    const { settle } = await client.enforcement({ settleTimeoutMs: 100 }).admit(asked)
    stub.answer(except(lifecycle, '/confirm', answerNever, 1))
    expect(await settle.confirm()).toEqual({ settle: 'confirm', state: 'queued' })
    expect(await client.flush()).toBe(0)
    expect(told(stub)).toHaveLength(2)
    expect(await rejectionOf(client.flush({ timeoutMs: -1 }))).toBeInstanceOf(TypeError)
  })
})

/** What gives its decision back, and how an action says by its value or its error that it has not succeeded. */
import { describe, expect, it, vi } from 'vitest'
import type { ActionOutcome, EnforcementOptions } from '../src/index.js'
import { denialOf, listener } from './enforcing.js'
import { memoryClient, permission, type Sent, settled } from './memory-client.js'
import { rejectionOf } from './transports.js'

const asked = { action: 'a.b' }
const job = { idempotencyKey: 'thread-1', holder: 'job-1' }
const interrupt = new Error('a person must say more')
const isPause = (error: unknown): boolean => error === interrupt

/** A decision point that knows a key again, uses a permit up once, and says which calls came. */
function startPoint(options: EnforcementOptions = {}) {
  const calls: string[] = []
  const byKey = new Map<unknown, readonly [number, unknown]>()
  let isRedeemed = false
  const client = memoryClient((sent: Sent) => {
    const call = sent.path.split('/').at(-1) ?? ''
    calls.push(call)
    if (call === 'redeem') {
      if (isRedeemed) return [409, { code: 'permit_already_used', title: '', status: 409, detail: '' }]
      isRedeemed = true
      return [...byKey.values()][0] ?? [404, {}]
    }
    if (call !== 'decisions') return settled(sent)
    const known = byKey.get(sent.body.holder) ?? permission(sent)
    byKey.set(sent.body.holder, known)
    return known
  })
  const heard = listener()
  return { client, calls, heard, point: client.enforcement({ onEvent: heard.onEvent, ...options }) }
}

describe('a paused admission', () => {
  it('runs to its end once, after it has interrupted itself twice', async () => {
    const { client, calls, point } = startPoint()
    let ended = 0
    for (const pass of [1, 2]) {
      const admission = await point.admit(asked, job)
      const running = point.run(
        admission,
        () => {
          throw interrupt
        },
        { isPause },
      )
      expect([pass, await rejectionOf(running)]).toEqual([pass, interrupt])
    }
    const last = await point.admit(asked, job)
    expect(await point.run(last, () => (ended += 1), { isPause })).toBe(1)
    expect(await denialOf(point.admit(asked, job))).toMatchObject({ reason: 'already_claimed' })
    expect(await client.flush()).toBe(0)
    expect([ended, calls]).toEqual([1, ['decisions', 'decisions', 'decisions', 'confirm', 'decisions']])
  })

  it('is admitted once more, and not twice at once', async () => {
    const { point } = startPoint()
    const first = await point.admit(asked, job)
    first.begin()
    first.pause()
    const resumed = await Promise.allSettled([point.admit(asked, job), point.admit(asked, job)])
    expect(resumed.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('settles nothing afterwards, tells nothing, and begins no more', async () => {
    const { client, calls, heard, point } = startPoint()
    const admission = await point.admit(asked, job)
    admission.pause()
    expect(await admission.settle.confirm({ amount: 4 })).toEqual({ settle: 'leave', state: 'left' })
    expect(() => admission.begin()).toThrow('already_claimed')
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions'])
    expect(heard.types()).toEqual(['decision', 'denied'])
    const again = await point.admit(asked, job)
    expect(await point.run(again, () => 'ran')).toBe('ran')
  })

  it('is not given back once it is settled', async () => {
    const { client, calls, point } = startPoint()
    const admission = await point.admit(asked, job)
    admission.begin()
    void admission.settle.confirm()
    admission.pause()
    expect(await denialOf(point.admit(asked, job))).toMatchObject({ reason: 'already_claimed' })
    expect(await client.flush()).toBe(0)
    expect(calls.sort()).toEqual(['confirm', 'decisions', 'decisions'])
  })

  it('that nobody can ask for again is rejected before it has begun, and left after', async () => {
    const { client, calls, heard, point } = startPoint()
    const unbegun = await point.admit(asked)
    unbegun.pause()
    const begun = await point.admit(asked, { idempotencyKey: 'a-holder-of-its-own' })
    begun.begin()
    begun.pause()
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions', 'reject', 'decisions'])
    const settlements = heard.events.filter((event) => event.type === 'settled')
    expect(new Set(settlements.map(({ ran }) => ran))).toEqual(new Set([false, null]))
  })

  it('of what runs at most once is redeemed once, and goes on in this process alone', async () => {
    const { client, calls, point } = startPoint({ runs: 'at-most-once' })
    const first = await point.admit(asked, job)
    first.begin()
    first.pause()
    const aborting = new AbortController()
    const second = await point.admit(asked, { ...job, signal: aborting.signal })
    aborting.abort(new Error('enough'))
    // It began before it was paused, so nobody may say that it did not.
    expect(() => second.begin()).toThrow('enough')
    expect(await point.run(await point.admit(asked, job), () => 'ran')).toBe('ran')
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions', 'redeem', 'decisions', 'decisions', 'confirm'])
  })

  it('observed, is given back, too', async () => {
    const { client, calls, point } = startPoint({ mode: 'observe' })
    const action = vi.fn(() => {
      throw interrupt
    })
    await rejectionOf(point.run(await point.admit(asked, job), action, { isPause }))
    expect(await point.run(await point.admit(asked, job), () => 'ran')).toBe('ran')
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions', 'decisions', 'confirm'])
  })
})

describe('the end of an action', () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  it.each<[string, ActionOutcome | undefined, string[], boolean | null]>([
    ['nothing', undefined, ['confirm'], true],
    ['that it failed', { kind: 'failed' }, ['reject'], false],
    ['that it failed with a refusal', { kind: 'failed', error: new Error('card declined') }, ['reject'], false],
    ['that it failed when its answer was lost', { kind: 'failed', error: lost }, [], null],
    ['that it failed with the words of a lost answer', { kind: 'failed', error: 'Error: timed out' }, [], null],
    ['that nobody knows', { kind: 'unknown' }, [], null],
    ['that it succeeded', { kind: 'succeeded' }, ['confirm'], true],
  ])('by a value that says %s', async (_what, said, moves, ran) => {
    const { client, calls, heard, point } = startPoint()
    const outcome = vi.fn(() => said)
    expect(await point.run(await point.admit(asked), () => 'its value', { outcome })).toBe('its value')
    expect(await client.flush()).toBe(0)
    expect(outcome.mock.calls).toEqual([['its value']])
    expect(calls.slice(1)).toEqual(moves)
    expect(heard.events.at(-1)).toMatchObject({ type: 'settled', ran })
  })

  it('keeps the amount that the action has set where the outcome says none', async () => {
    const { client, heard, point } = startPoint()
    const outcome = () => ({ kind: 'succeeded', amount: undefined }) as const
    await point.run(await point.admit(asked), (run) => run.setAmount(7), { outcome })
    expect(await client.flush()).toBe(0)
    expect(heard.events.at(-1)).toMatchObject({ type: 'settled', settlement: { settle: 'confirm', amount: 7 } })
  })

  it('says of what was only observed not that it did not run', async () => {
    const { client, heard, point } = startPoint({ mode: 'observe' })
    await point.run(await point.admit(asked), () => 'its value', { outcome: () => ({ kind: 'failed' }) })
    expect(await client.flush()).toBe(0)
    expect(heard.events.at(-1)).toMatchObject({ type: 'settled', settlement: { settle: 'reject' }, ran: null })
  })

  const faults: [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('faulty')
      },
    ],
    ['gives a promise', async () => ({ kind: 'failed' })],
    ['gives a promise that rejects', async () => Promise.reject(new Error('faulty'))],
  ]
  it.each([
    ...faults,
    ['gives what is no outcome', () => ({ kind: 'fine' })],
    ['gives null', () => null],
    ['gives true', () => true],
  ] as [string, () => unknown][])('is left when outcome %s, and the value is given back', async (_what, outcome) => {
    const { client, calls, heard, point } = startPoint({ onError: 'reject' })
    const admission = await point.admit(asked)
    expect(await point.run(admission, () => 'its value', { outcome: outcome as never })).toBe('its value')
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions'])
    expect(heard.events.at(-1)).toMatchObject({ type: 'settlement_failed', willRetry: false })
  })

  it.each(faults)('is left when isPause %s, and the error is thrown', async (_what, isFaulty) => {
    const { client, calls, heard, point } = startPoint({ onError: 'reject' })
    const admission = await point.admit(asked, job)
    const error = new Error('card declined')
    const failing = point.run(admission, () => Promise.reject(error), { isPause: isFaulty as never })
    expect(await rejectionOf(failing)).toBe(error)
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions'])
    expect(heard.events.at(-1)).toMatchObject({ type: 'settlement_failed', willRetry: false })
    expect(await denialOf(point.admit(asked, job))).toMatchObject({ reason: 'already_claimed' })
  })

  it('by an error that is no pause is what it always was', async () => {
    const { client, calls, point } = startPoint()
    const failing = point.run(await point.admit(asked), () => Promise.reject(new Error('card declined')), { isPause })
    await rejectionOf(failing)
    expect(await client.flush()).toBe(0)
    expect(calls).toEqual(['decisions', 'reject'])
  })
})

describe('the tag of an admission', () => {
  it('is in every event about it, and is sent nowhere', async () => {
    const bodies: object[] = []
    const heard = listener()
    const client = memoryClient((sent) => {
      bodies.push(sent.body)
      return sent.path.endsWith('/decisions') ? permission(sent) : [503, { code: 'store_unavailable', status: 503 }]
    })
    await client.guard(asked, () => 'ran', { tag: 'call-7', onEvent: heard.onEvent })
    await rejectionOf(client.guard({ action: 'undefined' }, () => 1, { tag: 'call-8', onEvent: heard.onEvent }))
    await client.guard(asked, () => 'ran', { mode: 'observe', onEvent: heard.onEvent })
    const pay = client.protect((id: string) => id, { ...asked, tag: (id) => `call-${id}`, onEvent: heard.onEvent })
    await pay('9')
    client.close()
    expect(heard.events.map(({ type, tag }) => [type, tag])).toEqual([
      ['decision', 'call-7'],
      ['settlement_failed', 'call-7'],
      ['denied', 'call-8'],
      ['decision', null],
      ['observed', null],
      ['settlement_failed', null],
      ['decision', 'call-9'],
      ['settlement_failed', 'call-9'],
      ['settlement_dropped', 'call-7'],
      ['settlement_dropped', null],
      ['settlement_dropped', 'call-9'],
    ])
    expect(JSON.stringify(bodies)).not.toContain('call-')
  })

  it('has to be a string', async () => {
    const { point, heard } = startPoint()
    const denied = await denialOf(point.admit(asked, { tag: 7 as never }))
    expect(denied).toMatchObject({ reason: 'mapping_failed', cause: { message: 'tag must be a string' } })
    expect(heard.events).toMatchObject([{ type: 'denied', tag: null }])
  })
})

it('claims what was reviewed by `claimHolder`, and goes on with it by that alone', async () => {
  const sent: unknown[] = []
  let [decision, claimed]: [unknown, unknown] = [undefined, undefined]
  const client = memoryClient(({ path, body }) => {
    const call = path.split('/').at(-1) ?? ''
    sent.push([call, body.holder])
    if (call === 'claim') claimed ??= body.holder
    if (claimed !== undefined && claimed !== body.holder)
      return [409, { code: 'already_claimed', title: '', status: 409, detail: '' }]
    decision ??= permission({ path, body })[1]
    return [200, { ...Object(decision), effect: 'review', status: claimed === undefined ? 'approved' : 'authorized' }]
  })
  const point = client.enforcement()
  const first = await point.admit(asked, { ...job, claimHolder: 'process-1' })
  first.begin()
  first.pause()
  const other = point.admit(asked, { ...job, claimHolder: 'process-2' })
  expect(await denialOf(other)).toMatchObject({ reason: 'already_claimed' })
  expect(await denialOf(point.admit(asked, job))).toMatchObject({ reason: 'already_claimed' })
  const again = await point.admit(asked, { ...job, claimHolder: 'process-1' })
  expect(again.kind).toBe('permitted')
  expect(sent).toEqual([
    ['decisions', 'job-1'],
    ['claim', 'process-1'],
    ['decisions', 'job-1'],
    ['decisions', 'process-2'],
    ['decisions', 'job-1'],
    ['decisions', 'job-1'],
    ['decisions', 'process-1'],
  ])
  const faulty = point.admit(asked, { ...job, claimHolder: '' })
  expect((await denialOf(faulty)).cause).toMatchObject({ message: 'claimHolder must be a text that is not empty' })
})

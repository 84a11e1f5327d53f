import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../../errors/api-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import type { Decision } from '../../wire.js'
import type { AdmissionEvent } from '../reporting/enforcement-event.js'
import { type SettlementOrder, SettlementQueue } from './settlement-queue.js'

const AWAY = new UnavailableError('connection', 'away')
const problem = (status: number, code: string): ApiError =>
  new ApiError('POST', {
    status,
    code,
    title: '',
    detail: '',
    request_id: null,
    errors: [],
    current_status: null,
    retryAfterSeconds: null,
  })

/** A decision point that can be away, and what it was told. */
class Point {
  fault: unknown
  faultOf: (id: string) => unknown = () => undefined
  readonly told: [id: string, body: object, key: string | undefined, timeoutMs: number | undefined][] = []
  attempts = 0
  readonly confirm = async (
    id: string,
    body: object,
    options: { idempotencyKey?: string | undefined; timeoutMs?: number | undefined },
  ) => {
    this.attempts += 1
    const fault = this.fault ?? this.faultOf(id)
    if (fault !== undefined) throw fault
    this.told.push([id, body, options.idempotencyKey, options.timeoutMs])
    return {} as Decision
  }
  readonly reject = this.confirm
}

describe('the queue of settlements', () => {
  let point: Point
  let queue: SettlementQueue
  let events: AdmissionEvent[]
  beforeEach(() => {
    vi.useFakeTimers()
    point = new Point()
    queue = new SettlementQueue(point, { random: () => 1, now: () => Date.now() })
    events = []
  })
  afterEach(() => {
    queue.close()
    vi.useRealTimers()
  })

  const order = (
    decision_id: string,
    settlement: SettlementOrder['settlement'] = { settle: 'confirm' },
  ): SettlementOrder => ({
    decision_id,
    settlement,
    timeoutMs: 1_000,
    report: (event) => void events.push(event),
  })
  const settledIds = (): string[] => point.told.map(([id]) => id)
  const types = (): string[] => events.map(({ type }) => type)

  it('tells at once what it can', async () => {
    expect(await queue.settle(order('dec_1', { settle: 'confirm', amount: 4, note: 'n' }))).toBe('settled')
    expect(await queue.settle(order('dec_2', { settle: 'reject', reason: 'r' }))).toBe('settled')
    expect(point.told).toEqual([
      ['dec_1', { amount: 4, note: 'n' }, expect.any(String), 1_000],
      ['dec_2', { reason: 'r' }, expect.any(String), 1_000],
    ])
    expect([types(), settledIds()]).toEqual([
      ['settled', 'settled'],
      ['dec_1', 'dec_2'],
    ])
  })

  it.each([
    AWAY,
    new UnavailableError('timeout', 'late'),
    new UnavailableError('bad_answer', 'html'),
    problem(500, 'internal_error'),
    problem(503, 'store_unavailable'),
    problem(429, 'rate_limited'),
  ])('tells later, with the same key, what met %s', async (fault) => {
    const keys: (string | undefined)[] = []
    const confirm = vi.spyOn(point, 'confirm')
    point.fault = fault
    expect(await queue.settle(order('dec_1'))).toBe('queued')
    expect(events).toMatchObject([{ type: 'settlement_failed', error: fault, willRetry: true }])
    await vi.advanceTimersByTimeAsync(1_001)
    point.fault = undefined
    await vi.advanceTimersByTimeAsync(2_001)
    for (const [, , options] of confirm.mock.calls) keys.push(options.idempotencyKey)
    expect(new Set(keys).size).toBe(1)
    expect([keys.length, types(), settledIds()]).toEqual([3, ['settlement_failed', 'settled'], ['dec_1']])
  })

  it.each([
    problem(409, 'invalid_transition'),
    problem(403, 'permit_redeemed'),
    problem(404, 'not_found'),
    problem(400, 'validation_failed'),
    new TypeError('closed'),
  ])('tells nothing more after %s', async (fault) => {
    point.fault = fault
    expect(await queue.settle(order('dec_1'))).toBe('refused')
    await vi.advanceTimersByTimeAsync(100_000)
    expect([point.attempts, settledIds()]).toEqual([1, []])
    expect(events).toMatchObject([{ type: 'settlement_failed', error: fault, willRetry: false }])
  })

  it('gives up on what is refused later', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    point.fault = problem(409, 'invalid_transition')
    await vi.advanceTimersByTimeAsync(1_001)
    await vi.advanceTimersByTimeAsync(100_000)
    expect(point.attempts).toBe(2)
    expect(events.at(-1)).toMatchObject({ type: 'settlement_failed', willRetry: false })
    expect(await queue.flush(10)).toBe(0)
  })

  it('waits longer each time, up to a minute, and soon again once the decision point is back', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    const at: number[] = []
    const startedMs = Date.now()
    let seen = point.attempts
    for (let second = 0; second < 300; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000)
      if (point.attempts > seen) at.push((Date.now() - startedMs) / 1000)
      seen = point.attempts
    }
    expect(at).toEqual([1, 3, 7, 15, 31, 63, 123, 183, 243])
    point.fault = undefined
    await vi.advanceTimersByTimeAsync(60_000)
    point.fault = AWAY
    await queue.settle(order('dec_2'))
    seen = point.attempts
    await vi.advanceTimersByTimeAsync(1_000)
    expect(point.attempts).toBe(seen + 1)
  })

  it('asks a decision point that is away for a few, and not for all', async () => {
    point.fault = AWAY
    await Promise.all(Array.from({ length: 500 }, (_, index) => queue.settle(order(`dec_${index}`))))
    const before = point.attempts
    await vi.advanceTimersByTimeAsync(1_001)
    expect(point.attempts - before).toBeLessThanOrEqual(8)
    point.fault = undefined
    await vi.advanceTimersByTimeAsync(2_001)
    expect(settledIds()).toHaveLength(500)
  })

  it('lets none that is never taken hold up the others', async () => {
    point.fault = AWAY
    const ids = Array.from({ length: 20 }, (_, index) => `dec_${index}`)
    for (const id of ids) await queue.settle(order(id))
    const stuck = ids.slice(0, 10)
    point.fault = undefined
    point.faultOf = (id) => (stuck.includes(id) ? problem(500, 'internal_error') : undefined)
    const flushed = queue.flush(2_000)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await flushed).toBe(10)
    expect(settledIds().sort()).toEqual(ids.slice(10).sort())
    // They alone are asked for less and less often.
    const before = point.attempts
    await vi.advanceTimersByTimeAsync(60_000)
    expect(point.attempts - before).toBeLessThanOrEqual(10 * 7)
    point.faultOf = () => undefined
    await vi.advanceTimersByTimeAsync(120_000)
    expect(settledIds().sort()).toEqual(ids.sort())
  })

  it('sends none twice at the same time', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    point.fault = undefined
    await Promise.all([queue.flush(1_000), queue.flush(1_000), queue.flush(1_000)])
    expect(settledIds()).toEqual(['dec_1'])
  })

  it('holds a thousand, and drops the oldest beyond', async () => {
    point.fault = AWAY
    for (let index = 0; index < 1_003; index += 1) await queue.settle(order(`dec_${index}`))
    const dropped = events.filter(({ type }) => type === 'settlement_dropped')
    expect(dropped).toMatchObject(
      ['dec_0', 'dec_1', 'dec_2'].map((decision_id) => ({ decision_id, why: 'queue_full' })),
    )
    point.fault = undefined
    const flushed = queue.flush(5_000)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await flushed).toBe(0)
    expect(new Set(settledIds()).size).toBe(1_000)
  })

  it('gives up after a day', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    await vi.advanceTimersByTimeAsync(24 * 60 * 60 * 1000 + 120_000)
    expect(events.at(-1)).toMatchObject({ type: 'settlement_dropped', why: 'gave_up' })
    const { attempts } = point
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect(point.attempts).toBe(attempts)
  })

  it('is drained by a flush that goes on until its time is over, and says how many are left', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    await queue.settle(order('dec_2', { settle: 'reject' }))
    const vain = queue.flush(900)
    await vi.advanceTimersByTimeAsync(900)
    expect(await vain).toBe(2)
    const flushed = queue.flush(5_000)
    await vi.advanceTimersByTimeAsync(300)
    point.fault = undefined
    await vi.advanceTimersByTimeAsync(300)
    expect(await flushed).toBe(0)
    expect(settledIds().sort()).toEqual(['dec_1', 'dec_2'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('waits in a flush for first attempts too, and for what it was told to track', async () => {
    let end = (): void => undefined
    void queue.track(
      new Promise<void>((resolve) => {
        end = resolve
      }),
    )
    const vain = queue.flush(100)
    await vi.advanceTimersByTimeAsync(100)
    expect(await vain).toBe(1)
    const flushed = queue.flush(100)
    end()
    expect(await flushed).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('drops what is queued when it is closed', async () => {
    point.fault = AWAY
    await queue.settle(order('dec_1'))
    queue.close()
    expect(events.at(-1)).toMatchObject({ type: 'settlement_dropped', decision_id: 'dec_1', why: 'closed' })
    expect(await queue.settle(order('dec_2'))).toBe('dropped')
    expect(events.at(-1)).toMatchObject({ type: 'settlement_dropped', decision_id: 'dec_2', why: 'closed' })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('listens for the end of the process only while something is queued', async () => {
    const before = process.listenerCount('beforeExit')
    point.fault = AWAY
    for (const id of ['dec_1', 'dec_2']) await queue.settle(order(id))
    expect(process.listenerCount('beforeExit')).toBe(before + 1)
    point.fault = undefined
    await vi.advanceTimersByTimeAsync(2_000)
    expect(settledIds()).toHaveLength(2)
    expect(process.listenerCount('beforeExit')).toBe(before)
  })
})

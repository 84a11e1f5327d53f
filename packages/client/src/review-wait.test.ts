import { decisionAbout } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { ApiError } from './errors/api-error.js'
import { UnavailableError } from './errors/unavailable-error.js'
import type { Running } from './requester.js'
import { type ReviewCalls, ReviewWait } from './review-wait.js'
import type { Decision } from './wire.js'

const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const waiting: Decision = { ...decisionAbout(asked), effect: 'review', status: 'awaiting_review' }
const authorized: Decision = { ...waiting, status: 'authorized' }

const problem = (status: number, code: string, retryAfterSeconds: number | null = null) =>
  new ApiError('POST /v1', {
    ...{ status, code, retryAfterSeconds, title: '', detail: '', request_id: null, errors: [], current_status: null },
  })

/** What the decision point says to one look, and after how many milliseconds. */
interface Look {
  readonly says: Decision | Error
  readonly afterMs?: number
}

/** A wait on a clock that only looks and pauses move. The last look is repeated. */
function play(
  looks: readonly Look[],
  { random = 0, timeoutMs = 3_600_000, claims = [authorized as Decision | Error] } = {},
) {
  const record = { pauses: [] as number[], waits: [] as number[], claims: [] as unknown[] }
  const controller = new AbortController()
  let nowMs = 0
  const pass = (milliseconds: number): void => {
    nowMs += milliseconds
    if (nowMs < timeoutMs) return
    controller.abort(wait.timeoutError(timeoutMs))
    throw controller.signal.reason
  }
  const tell = (said: Decision | Error): Decision => {
    if (said instanceof Error) throw said
    return said
  }
  const calls: ReviewCalls = {
    async get(_id, { waitSeconds }) {
      const { says, afterMs = 0 } = looks[Math.min(record.waits.length, looks.length - 1)] as Look
      record.waits.push(waitSeconds)
      pass(afterMs)
      return tell(says)
    },
    async claim(_id, { holder }, { idempotencyKey }) {
      record.claims.push([holder, idempotencyKey])
      return tell(claims[Math.min(record.claims.length, claims.length) - 1] as Decision | Error)
    },
  }
  const running: Running = {
    signal: controller.signal,
    remainingMs: () => timeoutMs - nowMs,
    async pause(milliseconds) {
      record.pauses.push(milliseconds)
      pass(milliseconds)
    },
  }
  const wait = new ReviewWait(calls, () => random, { id: waiting.id, decision: undefined, holder: 'run-77' })
  return { record, result: wait.run(running) }
}

describe('ReviewWait', () => {
  it('looks again at once after each wait that was one', async () => {
    const full = { says: waiting, afterMs: 25_000 }
    const { record, result } = play([full, full, full, { says: authorized, afterMs: 3_000 }])
    await result
    expect(record).toMatchObject({ pauses: [], waits: [25, 25, 25, 25] })
  })

  it('puts the next look off longer and longer when the decision point answers at once', async () => {
    const lowest = play([{ says: waiting }], { random: 0, timeoutMs: 60_000 })
    await expect(lowest.result).rejects.toMatchObject({ kind: 'timeout' })
    expect(lowest.record.pauses).toEqual([250, 500, 1000, 2000, 4000, ...Array(11).fill(5000)])
    const highest = play([{ says: waiting }], { random: 1, timeoutMs: 60_000 })
    await expect(highest.result).rejects.toMatchObject({ kind: 'timeout' })
    expect(highest.record.pauses).toEqual([500, 1000, 2000, 4000, 8000, ...Array(5).fill(10_000)])
  })

  it('begins with short pauses again after a wait that was one', async () => {
    const { record, result } = play([
      { says: waiting },
      { says: waiting },
      { says: waiting, afterMs: 25_000 },
      { says: waiting },
      { says: authorized },
    ])
    await result
    expect(record.pauses).toEqual([250, 500, 250])
  })

  it('waits as long as Retry-After says, and its own pause on top', async () => {
    const { record, result } = play([{ says: problem(503, 'store_unavailable', 40) }, { says: authorized }])
    await result
    expect(record.pauses).toEqual([40_250])
  })

  it('asks for no longer wait than it has time left', async () => {
    const { record, result } = play([{ says: waiting, afterMs: 24_500 }], { timeoutMs: 60_000 })
    await expect(result).rejects.toMatchObject({ kind: 'timeout' })
    expect(record.waits).toEqual([25, 25, 11])
  })

  it.each([
    new UnavailableError('connection', 'refused'),
    new UnavailableError('timeout', 'no answer'),
    new UnavailableError('bad_answer', 'a page of a proxy', { status: 502 }),
    problem(429, 'rate_limited'),
    problem(500, 'internal_error'),
    problem(503, 'replica_stale'),
    problem(504, 'gateway'),
  ])('outlasts $message, in looking and in claiming, as one claim', async (fault) => {
    const { record, result } = play([{ says: fault }, { says: fault }, { says: authorized }], {
      claims: [fault, authorized],
    })
    expect(await result).toEqual(authorized)
    expect(record.pauses).toEqual([250, 500, 1000])
    expect(record.claims).toHaveLength(2)
    expect(record.claims[1]).toEqual(record.claims[0])
    expect(record.claims[0]).toEqual(['run-77', expect.stringMatching(/^.{16,}$/)])
  })

  it('names the last fault when the decision point does not come back in time', async () => {
    const fault = new UnavailableError('connection', 'refused')
    const { result } = play([{ says: fault }], { timeoutMs: 30_000 })
    await expect(result).rejects.toMatchObject({ name: 'UnavailableError', kind: 'timeout', cause: fault })
  })

  it.each([
    new UnavailableError('bad_answer', 'not a decision'),
    new UnavailableError('bad_answer', 'a redirect', { status: 302 }),
    problem(400, 'validation_failed'),
    problem(401, 'unauthorized'),
    problem(403, 'not_asker'),
    problem(404, 'not_found'),
    problem(422, 'idempotency_key_reused'),
    new TypeError('the client is closed'),
  ])('ends with $message, which no later attempt would change', async (fault) => {
    const looking = play([{ says: fault }])
    await expect(looking.result).rejects.toBe(fault)
    const claiming = play([{ says: authorized }], { claims: [fault] })
    await expect(claiming.result).rejects.toBe(fault)
    expect([looking.record.pauses, claiming.record.pauses]).toEqual([[], []])
  })

  it('looks again when the decision changed before it was claimed', async () => {
    const changed = problem(409, 'invalid_transition')
    const declined: Decision = { ...waiting, status: 'declined' }
    const { record, result } = play([{ says: { ...waiting, status: 'approved' } }, { says: declined }], {
      claims: [changed],
    })
    await expect(result).rejects.toMatchObject({ name: 'NotPermittedError', reason: 'declined' })
    expect([record.waits.length, record.claims.length]).toEqual([2, 1])
  })
})

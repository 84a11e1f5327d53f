import {
  answerDecision,
  answerProblem,
  answerReset,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HASHED_NAMES } from './hashed-names.js'
import { openNodeTransport } from './node-transport.js'
import { resolveOptions } from './options.js'
import type { Chance } from './requester.js'
import { StreamRequester } from './stream-requester.js'

const call = {
  method: 'POST',
  path: '/v1/decisions',
  body: { agent_id: 'agent:support-7', action: 'payment.refund' },
  idempotencyKey: true,
  options: undefined,
} as const

describe('Requester', () => {
  let stub: StubDecisionPoint
  let waits: number[]
  let clockMs: number
  beforeEach(async () => {
    stub = await startStubDecisionPoint(answerDecision())
    waits = []
    clockMs = 1_000_000
  })
  afterEach(() => stub.close())

  /** A requester on which waiting takes no time and moves the clock. */
  function open(maxRetries: number, random = 0.5): StreamRequester {
    const settings = resolveOptions(
      'Countersign',
      { baseUrl: stub.url, apiKey: 'key-of-a-test', maxRetries, timeoutMs: 5_000 },
      {},
      {},
    )
    const chance: Chance = {
      random: () => random,
      now: () => clockMs,
      wait: async (milliseconds) => {
        waits.push(milliseconds)
        clockMs += milliseconds
      },
    }
    return new StreamRequester(
      settings,
      openNodeTransport({ connectTimeoutMs: 1_000, maxBytes: 1_000_000 }),
      HASHED_NAMES,
      chance,
    )
  }

  it('waits a random part of a window that doubles up to 500 ms', async () => {
    stub.answer(answerReset)
    await expect(open(6).send(call)).rejects.toMatchObject({ kind: 'connection' })
    expect(waits).toEqual([25, 50, 100, 200, 250, 250])
  })

  it('waits as long as Retry-After says, and the jitter on top', async () => {
    stub.answer(answerReset, answerProblem(429, 'rate_limited', { 'retry-after': '2' }), answerDecision())
    await expect(open(2).send(call)).resolves.toMatchObject({ status: 'authorized' })
    expect(waits).toEqual([25, 2050])
  })

  it('does not begin to wait for what the time limit cannot hold', async () => {
    stub.answer(answerProblem(503, 'store_unavailable', { 'retry-after': '2' }))
    await expect(open(10, 0).send(call)).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2 })
    expect(waits).toEqual([2000, 2000])
    expect(stub.requests).toHaveLength(3)
  })

  it('tells a probe the status of one attempt', async () => {
    stub.answer(answerProblem(503, 'store_unavailable'), answerDecision())
    await expect(open(2).probe({ method: 'GET', path: '/readyz', options: undefined })).resolves.toBe(503)
    expect(waits).toEqual([])
  })
})

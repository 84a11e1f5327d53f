/** Waiting for a review, over the wire: what resolves with a permit, and all that must not. */
import {
  answerDecision,
  answerJson,
  answerProblem,
  answerReset,
  type StubAnswer,
  type StubLifecycle,
  startStubDecisionPoint,
  startStubLifecycle,
} from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { type Decision, isPermitted, NotPermittedError } from '../src/index.js'
import { Countersign } from '../src/index-node.js'
import { API_KEY, describeTransports, type Rig, rejectionOf } from './transports.js'

const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }

/** A stub whose decisions move, with one that awaits a review and a client that asked for it. */
async function reviewed({ stub, open }: Rig) {
  const lifecycle = startStubLifecycle()
  stub.answer(lifecycle.answer)
  const client = open()
  const decision = await client.authorize({ ...asked, holder: 'run-77' })
  return { stub, lifecycle, client, decision, id: decision.id }
}

/** Answers a request whose path ends so in another way, this many times; all else as the lifecycle does. */
function except(lifecycle: StubLifecycle, ending: string, ...others: readonly StubAnswer[]): StubAnswer {
  const left = [...others]
  return (request, response) => {
    const other = new URL(request.url, 'http://stub').pathname.endsWith(ending) ? left.shift() : undefined
    const answer = other ?? lifecycle.answer
    answer(request, response)
  }
}

/** What was claimed: the holder and the idempotency key of each attempt. */
function claims(stub: Rig['stub']): readonly [string, string | undefined][] {
  return stub.requests
    .filter(({ url }) => url.endsWith('/claim'))
    .map(({ body, headers }) => [JSON.parse(body).holder, headers['idempotency-key'] as string | undefined])
}

describeTransports('waiting for a review', (rig) => {
  it('resolves with the permit once a person has approved', async () => {
    const { stub, client, decision, id } = await reviewed(rig())
    const polled = stub.nextRequest()
    const waiting = client.decisions.waitForReview(decision)
    expect((await polled).url).toBe(`/v1/decisions/${id}?wait=25`)
    await client.decisions.approve(id, { comment: 'checked the order' })
    const permitted = await waiting
    expect(permitted).toMatchObject({ ...asked, id, effect: 'review', status: 'authorized' })
    expect(permitted.permit_token).toMatch(/^ey/)
    expect(isPermitted(permitted, asked)).toBe(true)
    expect(claims(stub)).toEqual([['run-77', expect.any(String)]])
  })

  it('claims with the holder that it is given before the one that asked', async () => {
    const { stub, client, decision, lifecycle, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    await client.decisions.waitForReview(decision, { holder: 'run-78' })
    expect(claims(stub).map(([holder]) => holder)).toEqual(['run-78'])
  })

  it('claims with the random holder of the question, and with one of its own for a decision it did not ask for', async () => {
    const { stub, client, lifecycle } = await reviewed(rig())
    const decision = await client.authorize(asked)
    lifecycle.change(decision.id, { status: 'approved' })
    await client.decisions.waitForReview(decision)
    const { holder } = JSON.parse(stub.requests.findLast(({ url }) => url === '/v1/decisions')?.body ?? '')
    const other = await client.authorize(asked)
    lifecycle.change(other.id, { status: 'approved' })
    await client.decisions.waitForReview(other.id)
    const [first, second] = claims(stub).map(([claimed]) => claimed)
    expect([first, second]).toEqual([holder, expect.stringMatching(/^.{16,64}$/)])
    expect(second).not.toBe(holder)
  })

  it('gives the permit again to the same holder, after a restart or a lost answer', async () => {
    const { stub, client, lifecycle, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    const lost: StubAnswer = (request, response) => {
      response.socket?.destroy()
      lifecycle.answer(request, response)
    }
    stub.answer(except(lifecycle, '/claim', lost))
    const first = await client.decisions.waitForReview(id, { holder: 'run-77' })
    const again = await client.decisions.waitForReview(id, { holder: 'run-77' })
    expect(again).toEqual(first)
    const [attempt, retry, resumed] = claims(stub)
    expect(retry).toEqual(attempt)
    expect(resumed).toEqual(['run-77', expect.not.stringContaining(attempt?.[1] ?? '')])
  })

  it('keeps its random holder and its key over every attempt to claim', async () => {
    const { stub, client, lifecycle, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    stub.answer(except(lifecycle, '/claim', answerReset, answerProblem(503, 'store_unavailable')))
    await client.decisions.waitForReview(id)
    expect(claims(stub)).toHaveLength(3)
    expect(new Set(claims(stub).map(String)).size).toBe(1)
  })

  it('outlasts a decision point that is away for a while', async () => {
    const { stub, client, lifecycle, decision, id } = await reviewed(rig())
    stub.answer(answerReset, answerProblem(500, 'internal_error'), (request, response) => {
      lifecycle.change(id, { status: 'approved' })
      stub.answer(lifecycle.answer)
      lifecycle.answer(request, response)
    })
    expect(await client.decisions.waitForReview(decision)).toMatchObject({ status: 'authorized' })
  })

  it.each([
    ['declined', { status: 'declined' }],
    ['expired', { status: 'expired' }],
    ['settled', { status: 'confirmed' }],
    ['settled', { status: 'rejected' }],
  ] as const)('rejects as %s what moves to %j, and claims nothing', async (reason, change) => {
    const { stub, client, lifecycle, decision, id } = await reviewed(rig())
    const polled = stub.nextRequest()
    const waiting = rejectionOf(client.decisions.waitForReview(decision))
    await polled
    lifecycle.change(id, change)
    const error = await waiting
    expect(error).toBeInstanceOf(NotPermittedError)
    expect(error).toMatchObject({ name: 'NotPermittedError', reason, decision_id: id })
    expect(String(error)).toContain(id)
    expect(claims(stub)).toEqual([])
  })

  it('tells what the person wrote who declined', async () => {
    const { client, decision, id } = await reviewed(rig())
    await client.decisions.decline(id, { comment: 'not this customer' })
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({
      reason: 'declined',
      comment: 'not this customer',
    })
  })

  it('knows a withdrawn review from one that ran and was rejected', async () => {
    const { client, decision, id } = await reviewed(rig())
    await client.decisions.reject(id, { reason: 'changed my mind' })
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({ reason: 'withdrawn' })
  })

  it('asks nothing about a decision that has come to its end, and rejects', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const before = stub.requests.length
    for (const change of [
      { effect: 'deny', status: 'denied' },
      { status: 'declined' },
      { status: 'expired' },
    ] as const) {
      const error = await rejectionOf(client.decisions.waitForReview({ ...decision, ...change }))
      expect(error).toMatchObject({ name: 'NotPermittedError', reason: change.status })
    }
    expect(stub.requests).toHaveLength(before)
  })

  it('returns what was allowed at once as it is, while it may run', async () => {
    const { stub, open } = rig()
    const client = open()
    const allowed = await client.authorize(asked)
    expect(await client.decisions.waitForReview(allowed)).toEqual(allowed)
    const over = { ...allowed, expires_at: new Date().toISOString() }
    expect(await rejectionOf(client.decisions.waitForReview(over))).toMatchObject({ reason: 'expired' })
    const { permit_token: _, ...shownToOthers } = allowed
    expect(await rejectionOf(client.decisions.waitForReview(shownToOthers))).toMatchObject({ reason: 'not_reviewed' })
    expect(await rejectionOf(client.decisions.waitForReview({ ...allowed, effect: 'permit' } as never))).toMatchObject({
      name: 'NotPermittedError',
    })
    expect(stub.requests).toHaveLength(1)
  })

  it('does not take a permit from reading what was allowed at once: it belongs to the holder that asked', async () => {
    const { stub, open } = rig()
    const lifecycle = startStubLifecycle(() => 'allow')
    stub.answer(lifecycle.answer)
    const client = open()
    const { id } = await client.authorize(asked)
    expect(await client.decisions.get(id)).toMatchObject({ status: 'authorized', permit_token: expect.any(String) })
    expect(await rejectionOf(client.decisions.waitForReview(id))).toMatchObject({ reason: 'not_reviewed' })
  })

  it('rejects for every holder but the first', async () => {
    const { client, lifecycle, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    const holders = Array.from({ length: 20 }, (_, index) => `run-${index}`)
    const outcomes = await Promise.allSettled(holders.map((holder) => client.decisions.waitForReview(id, { holder })))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    for (const error of lost) {
      expect(error).toMatchObject({ name: 'NotPermittedError', reason: 'already_claimed' })
      expect(error.cause).toMatchObject({ name: 'ApiError', status: 409 })
    }
  })

  it.each(['policy_denies', 'agent_suspended', 'permit_already_used'])(
    'rejects when the claim is refused as %s',
    async (code) => {
      const { stub, client, lifecycle, decision, id } = await reviewed(rig())
      lifecycle.change(id, { status: 'approved' })
      stub.answer(except(lifecycle, '/claim', answerProblem(409, code)))
      expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({
        name: 'NotPermittedError',
        reason: code,
        cause: { name: 'ApiError', code },
      })
      expect(claims(stub)).toHaveLength(1)
    },
  )

  it('fails with the problem when the key is not the one that asked', async () => {
    const { stub, client, lifecycle, decision, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    stub.answer(except(lifecycle, '/claim', answerProblem(403, 'not_asker')))
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({ code: 'not_asker' })
  })

  const others = [
    ['another agent', { agent_id: 'agent:root' }],
    ['another action', { action: 'payment.read' }],
    ['another resource', { resource: 'order:1' }],
    ['another decision', { id: 'dec_01kagx5v5ne8sr6w1y6gqk4t2j' }],
    ['an unknown effect', { effect: 'permit' }],
    ['an unknown status', { status: 'running' }],
  ] as const

  it.each(others)('never takes %s for an answer to a look', async (_what, change) => {
    const { stub, client, decision } = await reviewed(rig())
    stub.answer(answerJson(200, { ...decision, status: 'approved', ...change }))
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({ kind: 'bad_answer' })
    expect(claims(stub)).toEqual([])
  })

  it.each([...others, ['what is not claimed', { status: 'approved' }] as const])(
    'never takes %s for an answer to a claim',
    async (_what, change) => {
      const { stub, client, lifecycle, decision, id } = await reviewed(rig())
      lifecycle.change(id, { status: 'approved' })
      const { permit_token } = (await rig()
        .open()
        .authorize({ ...asked, action: 'mail.send' })) as Decision
      const answer = answerJson(200, { ...decision, status: 'authorized', permit_token, ...change })
      stub.answer(except(lifecycle, '/claim', answer))
      expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({ kind: 'bad_answer' })
    },
  )

  it.each([
    ['is over', 'expired', { expires_at: '2020-01-01T00:00:00.000Z' }],
    ['has no permit', 'agent_suspended', { permit_token: undefined }],
    ['was settled meanwhile', 'settled', { status: 'confirmed' }],
    ['was denied', 'denied', { effect: 'deny', status: 'denied' }],
  ] as const)('rejects when what was claimed %s', async (_what, reason, change) => {
    const { stub, client, lifecycle, decision, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    const answer = answerJson(200, { ...decision, status: 'authorized', permit_token: 'a.b.c', ...change })
    stub.answer(except(lifecycle, '/claim', answer))
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toMatchObject({
      name: 'NotPermittedError',
      reason,
    })
  })

  it('ends at once when the signal says so, while it waits for an answer', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const controller = new AbortController()
    const polled = stub.nextRequest()
    const waiting = client.decisions.waitForReview(decision, { signal: controller.signal })
    await polled
    controller.abort(new Error('the person went away'))
    expect(await rejectionOf(waiting)).toBe(controller.signal.reason)
  })

  it('ends at once when the signal says so, while it waits to look again', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const controller = new AbortController()
    stub.answer((request, response) => {
      response.on('close', () => setImmediate(() => controller.abort()))
      answerProblem(503, 'store_unavailable', { 'retry-after': '60' })(request, response)
    })
    const waiting = client.decisions.waitForReview(decision, { signal: controller.signal })
    expect(await rejectionOf(waiting)).toBe(controller.signal.reason)
  })

  it('asks nothing when the signal was aborted before', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const signal = AbortSignal.abort(new Error('too late'))
    expect(await rejectionOf(client.decisions.waitForReview(decision, { signal }))).toBe(signal.reason)
    expect(stub.requests).toHaveLength(1)
  })

  it('ends at its time limit, whether the review goes on or the decision point is away', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const error = await rejectionOf(client.decisions.waitForReview(decision, { timeoutMs: 60 }))
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'timeout' })
    expect(error).not.toHaveProperty('cause')
    expect(String(error)).toContain('60 ms')
    await stub.close()
    const away = await rejectionOf(client.decisions.waitForReview(decision, { timeoutMs: 60 }))
    expect(away).toMatchObject({ name: 'UnavailableError', kind: 'timeout', cause: { kind: 'connection' } })
    expect(await rejectionOf(client.decisions.waitForReview(decision, { timeoutMs: 0 }))).toBeInstanceOf(TypeError)
  })

  it('ends when the client is closed', async () => {
    const { stub, client, decision } = await reviewed(rig())
    const polled = stub.nextRequest()
    const waiting = client.decisions.waitForReview(decision)
    await polled
    client.close()
    expect(await rejectionOf(waiting)).toMatchObject({ name: 'UnavailableError', kind: 'connection' })
    expect(await rejectionOf(client.decisions.waitForReview(decision))).toBeInstanceOf(TypeError)
  })

  it('keeps no listener on a signal that outlives it', async () => {
    const { client, lifecycle, decision, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    const listeners = new Set<unknown>()
    const signal = {
      aborted: false,
      addEventListener: (_type: 'abort', listener: () => void) => void listeners.add(listener),
      removeEventListener: (_type: 'abort', listener: () => void) => void listeners.delete(listener),
    }
    await client.decisions.waitForReview(decision, { signal })
    expect(listeners.size).toBe(0)
  })

  it('shows no permit in its errors', async () => {
    const { stub, client, lifecycle, decision, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    const over = {
      ...decision,
      status: 'authorized',
      permit_token: 'a.secret.permit',
      expires_at: '2020-01-01T00:00:00.000Z',
    }
    stub.answer(except(lifecycle, '/claim', answerJson(200, over)))
    const error = await rejectionOf(client.decisions.waitForReview(decision))
    const { inspect } = await import('node:util')
    expect(inspect(error, { depth: 20, showHidden: true, getters: true })).not.toContain('secret')
  })

  it('refuses an id that would name another endpoint', async () => {
    const { client } = await reviewed(rig())
    for (const id of ['', '..', undefined as never, null as never]) {
      expect(await rejectionOf(client.decisions.waitForReview(id))).toBeInstanceOf(TypeError)
    }
  })
})

describeTransports('settling', (rig) => {
  it('confirms and rejects what was allowed, and corrects it', async () => {
    const { stub, open } = rig()
    stub.answer(startStubLifecycle(() => 'allow').answer)
    const client = open()
    const { id } = await client.authorize(asked)
    const confirmed = await client.decisions.confirm(id, { amount: 40, note: 'shipping kept' })
    expect(confirmed).toMatchObject({ id, status: 'confirmed', outcome: { amount: 40, note: 'shipping kept' } })
    expect(confirmed.permit_token).toBeUndefined()
    expect(isPermitted(confirmed, asked)).toBe(false)
    const corrected = await client.decisions.correct(id, { result: 'rejected', note: 'it bounced' })
    expect(corrected).toMatchObject({ status: 'rejected', outcome: { corrected: true } })
    expect(await rejectionOf(client.decisions.confirm(id))).toMatchObject({
      code: 'invalid_transition',
      current_status: 'rejected',
    })
    const other = await client.authorize(asked)
    expect(await client.decisions.reject(other.id, { reason: 'out of stock' })).toMatchObject({ status: 'rejected' })
  })

  it('tries again with the same bytes and the same key when an answer is lost', async () => {
    const { stub, open } = rig()
    const lifecycle = startStubLifecycle(() => 'allow')
    stub.answer(lifecycle.answer)
    const client = open({ maxRetries: 2 })
    const { id } = await client.authorize(asked)
    stub.answer(except(lifecycle, '/confirm', answerReset, answerProblem(503, 'store_unavailable')))
    await client.decisions.confirm(id, { amount: 40 })
    const [, first, second, third] = stub.requests
    expect(first?.headers['idempotency-key']).toEqual(expect.any(String))
    expect([second, third]).toEqual([first, first])
  })

  it('claims with a holder that stays the same on each retry', async () => {
    const { stub, client, lifecycle, id } = await reviewed(rig())
    lifecycle.change(id, { status: 'approved' })
    stub.answer(except(lifecycle, '/claim', answerReset))
    const patient = rig().open({ maxRetries: 2 })
    expect(isPermitted(await patient.decisions.claim(id), asked)).toBe(true)
    expect(new Set(claims(stub).map(String)).size).toBe(1)
    expect(await rejectionOf(client.decisions.claim(id))).toMatchObject({ code: 'already_claimed' })
  })
})

describeTransports('a long poll', (rig) => {
  it('is not cut by the time limit of other calls', async () => {
    const { stub, decision } = await reviewed(rig())
    const hasty = rig().open({ timeoutMs: 300 })
    const startedMs = performance.now()
    expect(await hasty.decisions.get(decision.id, { waitSeconds: 1 })).toMatchObject({ status: 'awaiting_review' })
    expect(performance.now() - startedMs).toBeGreaterThan(900)
    stub.answer(() => undefined)
    expect(await rejectionOf(hasty.decisions.get(decision.id))).toMatchObject({ kind: 'timeout' })
  })
})

describe('connections (node:http)', () => {
  it('of long polls are none that other calls would have to wait for', async () => {
    const lifecycle = startStubLifecycle()
    const stub = await startStubDecisionPoint(lifecycle.answer)
    const client = new Countersign({ baseUrl: stub.url, apiKey: API_KEY })
    const decision = await client.authorize(asked)
    const waits = Array.from({ length: 200 }, () => client.decisions.waitForReview(decision, { holder: 'run-77' }))
    while (lifecycle.waitingCount() < 200) await stub.nextRequest()
    stub.answer(answerDecision())
    expect(await client.authorize({ ...asked, timeoutMs: 2_000 })).toMatchObject({ status: 'authorized' })
    stub.answer(lifecycle.answer)
    lifecycle.change(decision.id, { status: 'approved' })
    const permits = await Promise.all(waits)
    expect(new Set(permits.map(({ permit_token }) => permit_token)).size).toBe(1)
    client.close()
    await stub.close()
  })
})

describeTransports('an amount that is none', (rig) => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is sent to nobody', async (amount) => {
    const { stub, client, id } = await reviewed(rig())
    const sent = stub.requests.length
    await expect(client.decisions.confirm(id, { amount })).rejects.toThrow(TypeError)
    await expect(client.decisions.correct(id, { result: 'confirmed', amount })).rejects.toThrow('amount is')
    await expect(client.authorize({ ...asked, context: { amount } })).rejects.toThrow(TypeError)
    expect(stub.requests).toHaveLength(sent)
  })
})

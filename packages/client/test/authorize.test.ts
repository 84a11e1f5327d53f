import { createHash } from 'node:crypto'
import {
  answerDecision,
  answerJson,
  answerNothing,
  answerProblem,
  answerReset,
  answerText,
  decisionAbout,
} from '@countersign/testkit'
import { expect, it } from 'vitest'
import { ApiError, isPermitted, UnavailableError } from '../src/index.js'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }

describeTransports('authorize', (rig) => {
  it('asks POST /v1/decisions with the key, the whole question, an idempotency key and a holder', async () => {
    const { stub, open } = rig()
    const decision = await open().authorize({ ...asked, context: { amount: 42.5, currency: 'EUR' } })
    expect(decision).toMatchObject({ ...asked, effect: 'allow', status: 'authorized' })
    const [request] = stub.requests
    expect(request).toMatchObject({ method: 'POST', url: '/v1/decisions' })
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${API_KEY}`,
      accept: 'application/json',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^[\x21-\x7e]{16,255}$/),
    })
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...asked,
      context: { amount: 42.5, currency: 'EUR' },
      holder: expect.stringMatching(/^.{16,64}$/),
    })
  })

  it('takes another idempotency key and another holder for each call', async () => {
    const { stub, open } = rig()
    const client = open()
    await client.authorize(asked)
    await client.authorize(asked)
    const [first, second] = stub.requests.map(({ headers, body }) => ({
      key: headers['idempotency-key'],
      holder: JSON.parse(body).holder,
    }))
    expect(first?.key).not.toBe(second?.key)
    expect(first?.holder).not.toBe(second?.holder)
  })

  it('sends the same idempotency key, holder and bytes on each retry', async () => {
    const { stub, open } = rig()
    stub.answer(answerProblem(503, 'store_unavailable'), answerReset, answerDecision())
    await open({ maxRetries: 2 }).authorize(asked)
    expect(stub.requests).toHaveLength(3)
    expect(new Set(stub.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(new Set(stub.requests.map(({ body }) => body)).size).toBe(1)
  })

  it('sends the idempotency key and the holder that it is given, and nothing else that steers the call', async () => {
    const { stub, open } = rig()
    const signal = new AbortController().signal
    await open().authorize({ ...asked, holder: 'run-77', idempotencyKey: 'run-77/refund-1', timeoutMs: 4000, signal })
    expect(stub.requests[0]?.headers['idempotency-key']).toBe('run-77/refund-1')
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toEqual({ ...asked, holder: 'run-77' })
  })

  it('sends the hash of a key and of a holder that the wire does not take, the same each time', async () => {
    const { stub, open } = rig()
    const names = { holder: `Auftrag ${'7'.repeat(60)}`, idempotencyKey: 'Rückzahlung 1' }
    const client = open()
    await client.authorize({ ...asked, ...names })
    await client.authorize({ ...asked, ...names })
    await client.decisions.claim('dec_01kagx3v5ne8sr6w1y6gqk4t2h', { holder: names.holder }).catch(() => undefined)
    const sent = stub.requests.map(({ headers, body }) => [headers['idempotency-key'], JSON.parse(body).holder])
    const [key, holder] = [names.idempotencyKey, names.holder].map((text) =>
      createHash('sha256').update(JSON.stringify(text)).digest('hex'),
    )
    expect(sent).toEqual([
      [key, holder],
      [key, holder],
      [expect.any(String), holder],
    ])
  })

  it('asks for the agent that the client was made for', async () => {
    const { stub, open } = rig()
    const client = open({ agentId: 'agent:support-7' })
    await client.authorize({ action: 'payment.refund' })
    await client.authorize({ action: 'payment.refund', agent_id: 'agent:support-7' })
    expect(stub.requests.map(({ body }) => JSON.parse(body).agent_id)).toEqual(['agent:support-7', 'agent:support-7'])
  })

  it('refuses another agent than its own before anything is sent', async () => {
    const { stub, open } = rig()
    const error = await rejectionOf(
      open({ agentId: 'agent:support-7' }).authorize({ ...asked, agent_id: 'agent:root' }),
    )
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toContain('agent:support-7')
    expect(stub.connectionCount()).toBe(0)
  })

  it('refuses to ask for no agent at all', async () => {
    const { stub, open } = rig()
    expect(await rejectionOf(open().authorize({ action: 'payment.refund' }))).toBeInstanceOf(TypeError)
    expect(stub.connectionCount()).toBe(0)
  })

  it('passes on a member that it does not know, so that the server can refuse it', async () => {
    const { stub, open } = rig()
    stub.answer(answerProblem(400, 'validation_failed'))
    const misspelt = { ...asked, contxt: { amount: 1 } }
    expect(await rejectionOf(open().authorize(misspelt))).toBeInstanceOf(ApiError)
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toMatchObject({ contxt: { amount: 1 } })
  })

  it('returns a deny and a review, which permit nothing', async () => {
    const { stub, open } = rig()
    const client = open()
    stub.answer(answerDecision({ effect: 'deny', status: 'denied', permit_token: undefined }))
    const denied = await client.authorize(asked)
    expect([denied.status, isPermitted(denied, asked)]).toEqual(['denied', false])
    stub.answer(answerDecision({ effect: 'review', status: 'awaiting_review', permit_token: undefined }))
    const reviewed = await client.authorize(asked)
    expect([reviewed.status, isPermitted(reviewed, asked)]).toEqual(['awaiting_review', false])
  })

  it('permits what was allowed', async () => {
    expect(isPermitted(await rig().open().authorize(asked), asked)).toBe(true)
  })

  it.each([
    ['another agent', { agent_id: 'agent:root' }],
    ['another action', { action: 'payment.read' }],
    ['another resource', { resource: 'order:1' }],
    ['no resource', { resource: null }],
    ['an unknown effect', { effect: 'permit' }],
    ['an effect that is a member of every object', { effect: 'constructor' }],
    ['no effect', { effect: undefined }],
    ['an unknown status', { status: 'running' }],
    ['a denied decision that claims to be authorized', { effect: 'deny' }],
    ['no expiry', { expires_at: undefined }],
    ['an expiry that is no time', { expires_at: 'soon' }],
    ['no id', { id: undefined }],
    ['an id of something else', { id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h' }],
    ['a permit that is no string', { permit_token: { alg: 'none' } }],
  ])('never takes %s for an answer', async (_what, change) => {
    const { stub, open } = rig()
    stub.answer(answerDecision(change))
    const error = await rejectionOf(open({ maxRetries: 2 }).authorize(asked))
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    expect(stub.requests).toHaveLength(1)
  })

  it('never takes a resource in the answer for a question without one', async () => {
    const { stub, open } = rig()
    stub.answer(answerDecision({ resource: 'order:8812' }))
    const error = await rejectionOf(open().authorize({ agent_id: 'agent:support-7', action: 'payment.refund' }))
    expect(error).toMatchObject({ kind: 'bad_answer' })
  })

  it.each([
    ['text', answerText(200, 'allow')],
    ['half of a JSON text', answerText(200, JSON.stringify(decisionAbout(asked)).slice(0, -1))],
    ['a byte order mark', answerText(200, `\u{feff}${JSON.stringify(decisionAbout(asked))}`)],
    ['a list', answerJson(200, [decisionAbout(asked)])],
    ['null', answerJson(200, null)],
    ['nothing', answerNothing],
    ['an empty body', answerText(200, '')],
    ['a page of a proxy with status 403', answerText(403, '<h1>Forbidden</h1>')],
    ['JSON of a proxy with status 401', answerJson(401, { message: 'no' })],
    ['a redirect', answerText(307, '', { location: '/v1/elsewhere' })],
    ['a decision with status 307', answerJson(307, decisionAbout(asked), { location: '/v1/elsewhere' })],
    ['a decision with status 500', answerJson(500, decisionAbout(asked))],
  ])('never takes %s for an answer', async (_what, answer) => {
    const { stub, open } = rig()
    stub.answer(answer)
    const error = await rejectionOf(open({ maxRetries: 2 }).authorize(asked))
    expect(UnavailableError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ kind: 'bad_answer' })
    expect(stub.requests).toHaveLength(1)
  })

  it('never takes bytes that are not UTF-8 for an answer', async () => {
    const { stub, open } = rig()
    stub.answer((request, response) => {
      const text = JSON.stringify({ ...decisionAbout(JSON.parse(request.body)), reason: '§' })
      response.end(Buffer.from(text, 'latin1'))
    })
    expect(await rejectionOf(open().authorize(asked))).toMatchObject({ kind: 'bad_answer' })
  })
})

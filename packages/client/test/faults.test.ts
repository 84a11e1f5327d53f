import { createServer } from 'node:net'
import {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerNever,
  answerProblem,
  answerReset,
  answerText,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { Countersign, UnavailableError } from '../src/index-node.js'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const asked = { agent_id: 'agent:support-7', action: 'payment.refund' }

describeTransports('faults', (rig) => {
  it.each([429, 502, 503, 504])('tries again after %i, at most twice by default', async (status) => {
    const { stub, open } = rig()
    stub.answer(answerProblem(status, 'rate_limited'))
    expect(await rejectionOf(open({ maxRetries: undefined }).authorize(asked))).toMatchObject({
      name: 'ApiError',
      status,
    })
    expect(stub.requests).toHaveLength(3)
  })

  it.each([400, 401, 403, 404, 409, 412, 413, 415, 422, 500, 501])('does not try again after %i', async (status) => {
    const { stub, open } = rig()
    stub.answer(answerProblem(status, 'internal_error'))
    expect(await rejectionOf(open({ maxRetries: 2 }).authorize(asked))).toMatchObject({ name: 'ApiError', status })
    expect(stub.requests).toHaveLength(1)
  })

  it.each([
    ['a reset', answerReset],
    ['an answer that is cut off', answerCutOff],
    ['502 of a proxy', answerText(502, '<h1>Bad Gateway</h1>')],
  ])('tries again after %s and takes the answer that comes', async (_what, answer) => {
    const { stub, open } = rig()
    stub.answer(answer, answer, answerDecision())
    expect(await open({ maxRetries: 2 }).authorize(asked)).toMatchObject({ status: 'authorized' })
    expect(stub.requests).toHaveLength(3)
  })

  it.each([0, 1, 3])('makes 1 + %i attempts when maxRetries says so', async (maxRetries) => {
    const { stub, open } = rig()
    stub.answer(answerReset)
    expect(await rejectionOf(open({ maxRetries }).authorize(asked))).toMatchObject({ kind: 'connection' })
    expect(stub.requests).toHaveLength(maxRetries + 1)
  })

  it.each([
    ['POST', (client: Countersign) => client.policies.create({ name: 'p', rules: [{ action: '*', effect: 'deny' }] })],
    [
      'PUT',
      (client: Countersign) => client.policies.update('pol_1', { name: 'p', rules: [{ action: '*', effect: 'deny' }] }),
    ],
    ['DELETE', (client: Countersign) => client.policies.delete('pol_1')],
    ['GET', (client: Countersign) => client.policies.get('pol_1')],
  ])('tries a %s again with the same bytes and headers', async (method, call) => {
    const { stub, open } = rig()
    stub.answer(answerReset, answerProblem(503, 'store_unavailable'), answerJson(200, { id: 'pol_1' }))
    await call(open({ maxRetries: 2 }))
    expect(stub.requests.map((request) => request.method)).toEqual([method, method, method])
    const [first, second, third] = stub.requests
    expect(second).toEqual(first)
    expect(third).toEqual(first)
  })

  it('says what the problem document says', async () => {
    const { stub, open } = rig()
    const problem = {
      type: '/docs/errors#validation_failed',
      title: 'The request is not valid.',
      status: 400,
      detail: '1 problem found; see `errors`.',
      code: 'validation_failed',
      request_id: 'req_12345678',
      errors: [{ pointer: '/action', detail: 'is missing' }, 'not of this shape'],
    }
    stub.answer(answerJson(400, problem, { 'content-type': 'application/problem+json' }))
    expect(await rejectionOf(open().authorize(asked))).toMatchObject({
      message: 'POST /v1/decisions: 400 validation_failed: /action is missing',
      status: 400,
      code: 'validation_failed',
      title: 'The request is not valid.',
      detail: '1 problem found; see `errors`.',
      request_id: 'req_12345678',
      errors: [{ pointer: '/action', detail: 'is missing' }],
      current_status: null,
      retryAfterSeconds: null,
    })
  })

  it('takes the status from the wire and the request id from the header where the document has none', async () => {
    const { stub, open } = rig()
    stub.answer(
      answerJson(
        409,
        { code: 'invalid_transition', status: 200, current_status: 'expired' },
        { 'x-request-id': 'req_fromheader' },
      ),
    )
    expect(await rejectionOf(open().authorize(asked))).toMatchObject({
      status: 409,
      current_status: 'expired',
      request_id: 'req_fromheader',
      title: '',
      detail: '',
    })
  })

  it('gives up at once, saying how long to wait, when Retry-After goes beyond the time limit', async () => {
    const { stub, open } = rig()
    stub.answer(answerProblem(429, 'rate_limited', { 'retry-after': '3600' }))
    expect(await rejectionOf(open({ maxRetries: 2 }).authorize(asked))).toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 3600,
    })
    expect(stub.requests).toHaveLength(1)
  })

  it('ends at the time limit when no answer comes', async () => {
    const { stub, open } = rig()
    stub.answer(answerNever)
    const error = await rejectionOf(open({ maxRetries: 2, timeoutMs: 60 }).authorize(asked))
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'timeout', status: null })
    expect(String(error)).toContain('60 ms')
    expect(stub.requests).toHaveLength(1)
  })

  it('ends at the time limit when an answer begins and does not end', async () => {
    const { stub, open } = rig()
    stub.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{')
    })
    expect(await rejectionOf(open({ timeoutMs: 60 }).authorize(asked))).toMatchObject({ kind: 'timeout' })
  })

  it('takes the time limit of a call before that of the client', async () => {
    const { stub, open } = rig()
    stub.answer(answerNever)
    expect(await rejectionOf(open().policies.get('pol_1', { timeoutMs: 40 }))).toMatchObject({ kind: 'timeout' })
    expect(await rejectionOf(open().policies.get('pol_1', { timeoutMs: 0 }))).toBeInstanceOf(TypeError)
  })

  it('counts the time of all attempts together', async () => {
    const { stub, open } = rig()
    stub.answer(answerReset, answerNever)
    expect(await rejectionOf(open({ maxRetries: 2, timeoutMs: 300 }).authorize(asked))).toMatchObject({
      kind: 'timeout',
    })
    expect(stub.requests).toHaveLength(2)
  })

  it('ends at once when the signal says so while the server thinks', async () => {
    const { stub, open } = rig()
    stub.answer(answerNever)
    const controller = new AbortController()
    const call = open().authorize({ ...asked, signal: controller.signal })
    await stub.nextRequest()
    controller.abort(new Error('the person went away'))
    expect(await rejectionOf(call)).toBe(controller.signal.reason)
  })

  it('ends at once when the signal says so while it waits to try again', async () => {
    const { stub, open } = rig()
    const controller = new AbortController()
    stub.answer((request, response) => {
      response.on('close', () => setImmediate(() => controller.abort()))
      answerProblem(429, 'rate_limited', { 'retry-after': '60' })(request, response)
    })
    const call = open({ maxRetries: 2, timeoutMs: 100_000 }).authorize({ ...asked, signal: controller.signal })
    expect(await rejectionOf(call)).toBe(controller.signal.reason)
    expect(stub.requests).toHaveLength(1)
  })

  it('sends nothing when the signal was aborted before', async () => {
    const { stub, open } = rig()
    const signal = AbortSignal.abort(new Error('too late'))
    expect(await rejectionOf(open().authorize({ ...asked, signal }))).toBe(signal.reason)
    expect(stub.connectionCount()).toBe(0)
  })

  it('rejects with an error even when a signal gives no reason', async () => {
    const { stub, open } = rig()
    const mute = { aborted: true, addEventListener: () => undefined, removeEventListener: () => undefined }
    expect(await rejectionOf(open().authorize({ ...asked, signal: mute }))).toMatchObject({ name: 'AbortError' })
    expect(stub.connectionCount()).toBe(0)
  })

  it('keeps no listener on a signal that outlives the call', async () => {
    const { open } = rig()
    const { signal } = new AbortController()
    const listeners = new Set<unknown>()
    const counted = {
      aborted: false,
      addEventListener: (type: 'abort', listener: () => void) => {
        listeners.add(listener)
        signal.addEventListener(type, listener)
      },
      removeEventListener: (_type: 'abort', listener: () => void) => void listeners.delete(listener),
    }
    await open().authorize({ ...asked, signal: counted })
    expect(listeners.size).toBe(0)
  })

  it('reads no more than 8 MiB of an answer, and does not ask for it again', async () => {
    const { stub, open } = rig()
    stub.answer(answerHuge(64 * 1024 * 1024))
    expect(await rejectionOf(open({ maxRetries: 2 }).authorize(asked))).toMatchObject({
      kind: 'bad_answer',
      message: expect.stringContaining('too large'),
      status: 200,
    })
    expect(stub.requests).toHaveLength(1)
  })

  it('reads an answer of 8 MiB', async () => {
    const { stub, open } = rig()
    const shell = JSON.stringify({ data: [''], next_cursor: null })
    stub.answer(answerText(200, shell.replace('""', `"${'x'.repeat(16 * 1024 * 1024 - shell.length)}"`)))
    const page = await open().policies.list().page()
    expect(JSON.stringify(page)).toHaveLength(16 * 1024 * 1024)
  })

  it('follows no redirect', async () => {
    const { stub, open } = rig()
    stub.answer(answerText(302, '', { location: `${stub.url}/v1/policies/pol_2` }), answerJson(200, { id: 'pol_2' }))
    expect(await rejectionOf(open({ maxRetries: 2 }).policies.get('pol_1'))).toMatchObject({ kind: 'bad_answer' })
    expect(stub.requests.map(({ url }) => url)).toEqual(['/v1/policies/pol_1'])
  })

  it('names the fault when nobody listens', async () => {
    const { stub, open } = rig()
    const client = open({ maxRetries: 1 })
    await stub.close()
    const error = await rejectionOf(client.authorize(asked))
    expect(error).toMatchObject({ name: 'UnavailableError', kind: 'connection', cause: expect.any(Error) })
    expect(String(error)).toContain('ECONNREFUSED')
  })

  it('does not notice that the server ended an idle connection', async () => {
    const { stub, open } = rig()
    const client = open({ maxRetries: 0 })
    await client.authorize(asked)
    stub.closeIdleConnections()
    expect(await client.authorize(asked)).toMatchObject({ status: 'authorized' })
  })

  it('ends calls in progress when it is closed, and refuses further ones', async () => {
    const { stub, open } = rig()
    stub.answer(answerNever)
    const client = open({ maxRetries: 2 })
    const call = client.authorize(asked)
    await stub.nextRequest()
    client.close()
    client.close()
    expect(await rejectionOf(call)).toMatchObject({ name: 'UnavailableError', kind: 'connection' })
    expect(await rejectionOf(client.authorize(asked))).toBeInstanceOf(TypeError)
    expect(stub.requests).toHaveLength(1)
  })

  it('answers many calls at once, each with its own decision', async () => {
    const { open } = rig()
    const client = open()
    const actions = Array.from({ length: 300 }, (_, index) => `payment.refund-${index}`)
    const decisions = await Promise.all(actions.map((action) => client.authorize({ ...asked, action })))
    expect(decisions.map(({ action }) => action)).toEqual(actions)
  })
})

describe('connections (node:http)', () => {
  it('uses one connection for calls that follow one another', async () => {
    const stub = await startStubDecisionPoint(answerDecision())
    const client = new Countersign({ baseUrl: stub.url, apiKey: API_KEY })
    for (let call = 0; call < 5; call += 1) await client.authorize(asked)
    expect(stub.connectionCount()).toBe(1)
    client.close()
    await stub.close()
  })

  it('opens at most 128 connections, and lets further calls wait for one of them', async () => {
    const stub = await startStubDecisionPoint(answerDecision())
    const client = new Countersign({ baseUrl: stub.url, apiKey: API_KEY })
    await Promise.all(Array.from({ length: 200 }, () => client.authorize(asked)))
    expect(stub.requests).toHaveLength(200)
    expect(stub.connectionCount()).toBe(128)
    client.close()
    await stub.close()
  })

  it('gives up a TLS handshake that does not come to an end, and tries again', async () => {
    let connections = 0
    const silent = createServer((socket) => {
      connections += 1
      socket.on('error', () => undefined)
      socket.resume()
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const client = new Countersign({
      baseUrl: `https://127.0.0.1:${port}`,
      apiKey: API_KEY,
      connectTimeoutMs: 40,
      maxRetries: 1,
    })
    const error = await rejectionOf(client.authorize(asked))
    expect(UnavailableError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ kind: 'connection', message: expect.stringContaining('not connected within 40 ms') })
    expect(connections).toBe(2)
    client.close()
    await new Promise((resolve) => silent.close(resolve))
  })
})

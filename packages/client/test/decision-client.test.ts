/** The client without enforcement and management, over both transports: what it shows, refuses and throws. */
import { inspect } from 'node:util'
import {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerProblem,
  answerReset,
  answerText,
  type StubAnswer,
  type StubDecisionPoint,
  startStubDecisionPoint,
  startStubLifecycle,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { DecisionClient as OverFetch } from '../src/decisions.js'
import { DecisionClient as OverNode } from '../src/decisions-node.js'
import { type Countersign, CountersignError, type CountersignOptions } from '../src/index.js'
import { Countersign as Whole } from '../src/index-node.js'
import { API_KEY, rejectionOf } from './transports.js'

const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const PROXY_SECRET = 'proxy-hunter2'

/** Everything that a caller can see of an error, but for where it was thrown. */
function seenOf(error: unknown) {
  if (!CountersignError.isInstance(error)) throw error
  const { name, message, ...members } = error
  return { name, message, members: JSON.stringify(members) }
}

describe.each([
  ['node:http', OverNode],
  ['fetch', OverFetch],
])('a client of decisions (%s)', (_transport, DecisionClient) => {
  let stub: StubDecisionPoint
  let clients: { close(): void }[]
  const given = (options: CountersignOptions = {}) => ({
    ...{ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 },
    ...options,
  })
  const open = (options?: CountersignOptions) => {
    const client = new DecisionClient(given(options))
    clients.push(client)
    return client
  }
  beforeEach(async () => {
    clients = []
    stub = await startStubDecisionPoint(answerDecision())
  })
  afterEach(async () => {
    for (const client of clients) client.close()
    await stub.close()
  })

  it('shows no secret when it is logged', () => {
    const client = open({ headers: { 'x-proxy': PROXY_SECRET } })
    const pictures = [client, client.decisions].flatMap((one) => [
      inspect(one, { depth: 20, showHidden: true, getters: true }),
      JSON.stringify(one),
      String(one),
      JSON.stringify(Object.entries(one)),
    ])
    for (const secret of [API_KEY, PROXY_SECRET]) expect(pictures.join('\n')).not.toContain(secret)
  })

  it.each<[string, StubAnswer]>([
    ['a problem', answerProblem(401, 'unauthorized')],
    ['a problem with a time to wait', answerProblem(429, 'rate_limited', { 'retry-after': '7' })],
    ['a reset', answerReset],
    ['an answer that is cut off', answerCutOff],
    ['an answer that is too large', answerHuge(16 * 1024 * 1024)],
    ['no JSON', answerText(200, 'permit')],
    ['a list', answerJson(200, [])],
    ['a decision for another agent', answerDecision({ agent_id: 'agent:root' })],
    ['a decision of unknown effect', answerDecision({ effect: 'permit' as never })],
  ])('throws what the whole client throws about %s', async (_what, answer) => {
    stub.answer(answer)
    const whole = new Whole(given())
    clients.push(whole)
    const thrown = seenOf(await rejectionOf(whole.authorize(asked)))
    // The message of a fault of the connection is the platform's.
    if (DecisionClient === OverFetch && thrown.members.includes('"connection"'))
      delete (thrown as Partial<typeof thrown>).message
    expect(seenOf(await rejectionOf(open().authorize(asked)))).toMatchObject(thrown)
  })

  it('throws what the whole client throws about a review that was declined', async () => {
    const lifecycle = startStubLifecycle()
    stub.answer(lifecycle.answer)
    const [client, whole] = [open(), new Whole(given())]
    clients.push(whole)
    const decision = await client.authorize(asked)
    await client.decisions.decline(decision.id, { comment: 'not this one' })
    const thrown = seenOf(await rejectionOf(whole.decisions.waitForReview(decision.id)))
    expect(thrown).toMatchObject({ name: 'NotPermittedError', members: expect.stringContaining('not this one') })
    expect(seenOf(await rejectionOf(client.decisions.waitForReview(decision)))).toEqual(thrown)
  })

  it('sends keys and holders as they are, and refuses those that the wire does not take', async () => {
    const client = open()
    await client.authorize({ ...asked, idempotencyKey: 'run-77/refund-1', holder: 'Auftrag 7' })
    expect(stub.requests[0]?.headers['idempotency-key']).toBe('run-77/refund-1')
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toMatchObject({ holder: 'Auftrag 7' })
    const key = client.authorize({ ...asked, idempotencyKey: 'Auftrag 7' })
    await expect(key).rejects.toThrow(new TypeError('idempotencyKey must be 1 to 255 visible ASCII characters'))
    const holder = client.decisions.claim('dec_1', { holder: 'a'.repeat(65) })
    await expect(holder).rejects.toThrow(new TypeError('holder must be 1 to 64 characters'))
    expect(stub.requests).toHaveLength(1)
  })

  it('asks for no other agent than its own', async () => {
    const client = open({ agentId: 'agent:a' })
    await expect(client.authorize(asked)).rejects.toThrow('agent_id must be agent:a, the agent of this client')
    await expect(open().authorize({ action: 'payment.refund' })).rejects.toThrow('agent_id is missing')
    expect(stub.requests).toEqual([])
  })

  it('names an option that it does not have', () => {
    expect(() => new DecisionClient({ apiKey: 'k', api_key: 'k' } as object)).toThrow(
      new TypeError('api_key is not an option of DecisionClient: it is called apiKey'),
    )
    expect(() => new DecisionClient({ apiKey: 'k', mode: 'observe' } as object)).toThrow(
      new TypeError('mode is not an option of DecisionClient'),
    )
  })

  it('makes no call after it was closed', async () => {
    const client = open()
    client.close()
    await expect(client.authorize(asked)).rejects.toThrow('the client is closed')
  })
})

it('is what the whole client also is', () => {
  expectTypeOf<Countersign>().toExtend<OverNode>()
  expectTypeOf<Countersign>().toExtend<OverFetch>()
})

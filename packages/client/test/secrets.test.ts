import { inspect } from 'node:util'
import {
  answerCutOff,
  answerDecision,
  answerHuge,
  answerJson,
  answerProblem,
  answerReset,
  answerText,
} from '@countersign/testkit'
import { describe, expect, it, vi } from 'vitest'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const PERMIT = 'eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJkZWMifQ.dGhlLXNlY3JldC1wZXJtaXQ'
const PROXY_SECRET = 'proxy-hunter2'

/** Everything of an error that a log could show. */
function shown(error: unknown): string {
  return [inspect(error, { depth: 20, showHidden: true, getters: true }), JSON.stringify(error), String(error)].join(
    '\n',
  )
}

describeTransports('secrets', (rig) => {
  it('are not shown by a logged client', () => {
    const client = rig().open({ headers: { 'x-proxy': PROXY_SECRET } })
    const pictures = [
      inspect(client, { depth: 20, showHidden: true, getters: true }),
      JSON.stringify(client),
      String(client),
      JSON.stringify(Object.entries(client)),
    ].join('\n')
    expect(pictures).not.toContain(API_KEY)
    expect(pictures).not.toContain(PROXY_SECRET)
  })

  it.each([
    ['a problem', answerProblem(401, 'unauthorized')],
    ['a reset', answerReset],
    ['an answer that is cut off', answerCutOff],
    ['an answer that is too large', answerHuge(16 * 1024 * 1024)],
    ['text with a permit in it', answerText(200, PERMIT)],
    ['JSON with a permit that breaks off', answerText(200, `{"permit_token": "${PERMIT}", `)],
    ['a list with a permit in it', answerJson(200, [PERMIT])],
    ['a decision for another agent', answerDecision({ agent_id: 'agent:root', permit_token: PERMIT })],
    ['a decision of unknown effect', answerDecision({ effect: 'permit', permit_token: PERMIT })],
    ['a page of a proxy', answerText(403, `<h1>${PERMIT}</h1>`)],
  ])('are in no error about %s', async (_what, answer) => {
    const { stub, open } = rig()
    stub.answer(answer)
    const client = open({ headers: { 'x-proxy': PROXY_SECRET } })
    const picture = shown(
      await rejectionOf(client.authorize({ agent_id: 'agent:support-7', action: 'payment.refund' })),
    )
    expect(picture).toContain('POST /v1/decisions')
    for (const secret of [API_KEY, PERMIT, PROXY_SECRET]) expect(picture).not.toContain(secret)
  })

  it('of a permit that is redeemed are in no error', async () => {
    const { stub, open } = rig()
    stub.answer(answerProblem(409, 'permit_already_used'))
    expect(shown(await rejectionOf(open().permits.redeem(PERMIT)))).not.toContain(PERMIT)
  })

  it('are in no error about a server that cannot be reached', async () => {
    const { stub, open } = rig()
    await stub.close()
    const error = await rejectionOf(open().policies.get('pol_1'))
    expect(shown(error)).toContain('ECONNREFUSED')
    expect(shown(error)).not.toContain(API_KEY)
  })
})

describe('errors', () => {
  it('are recognised by brand, whichever copy of the package made them', async () => {
    const first = await import('../src/public.js')
    vi.resetModules()
    const second = await import('../src/public.js')
    expect(second.ApiError).not.toBe(first.ApiError)
    const error = new second.UnavailableError('timeout', 'POST /v1/decisions: no answer')
    expect(error).not.toBeInstanceOf(first.UnavailableError)
    expect(first.UnavailableError.isInstance(error)).toBe(true)
    expect(first.CountersignError.isInstance(error)).toBe(true)
    expect(first.ApiError.isInstance(error)).toBe(false)
  })

  it('of others are none of ours', async () => {
    const { ApiError, CountersignError, UnavailableError } = await import('../src/public.js')
    for (const other of [new Error('x'), new TypeError('x'), null, undefined, 'ApiError', { name: 'ApiError' }]) {
      expect(CountersignError.isInstance(other)).toBe(false)
      expect(ApiError.isInstance(other)).toBe(false)
      expect(UnavailableError.isInstance(other)).toBe(false)
    }
  })
})

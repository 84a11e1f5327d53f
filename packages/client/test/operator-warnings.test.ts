/** What an operator is told who listens to nothing: each fault that only an operator can mend, once. */
import {
  answerDecision,
  answerJson,
  answerProblem,
  answerText,
  type StubAnswer,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type * as Package from '../src/index-node.js'
import { asked } from './enforcing.js'
import { API_KEY, rejectionOf } from './transports.js'

const PERMIT = 'eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJkZWMifQ.dGhlLXNlY3JldC1wZXJtaXQ'
const minutes = (count: number): string => new Date(Date.now() + count * 60_000).toISOString()

const invalid = (pointer: string, detail = 'is not valid'): StubAnswer =>
  answerJson(400, {
    title: 'The request is not valid.',
    status: 400,
    detail: '1 problem found; see `errors`.',
    code: 'validation_failed',
    errors: [{ pointer, detail }],
  })

describe('without onEvent', () => {
  let stub: StubDecisionPoint
  let client: Package.Countersign
  let point: Package.EnforcementPoint
  /** As code and text. */
  let warnings: (readonly [code: string, text: string])[]

  beforeEach(async () => {
    warnings = []
    vi.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
      const { type, code, detail } = options as { type: string; code: string; detail: string }
      expect([type, detail]).toEqual(['CountersignWarning', expect.stringContaining('onEvent')])
      warnings.push([code, String(text)])
    })
    stub = await startStubDecisionPoint(answerDecision())
    // What was said is forgotten with the process alone.
    vi.resetModules()
    const copy = await import('../src/index-node.js')
    client = new copy.Countersign({ baseUrl: stub.url, apiKey: API_KEY, maxRetries: 0 })
    point = client.enforcement()
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    client.close()
    await stub.close()
  })

  const refused = (request: object = asked) => rejectionOf(point.guard(request as never, () => undefined))

  it.each<[string, StubAnswer, string, RegExp]>([
    [
      'a wrong key',
      answerProblem(401, 'unauthorized'),
      'COUNTERSIGN_WRONG_KEY',
      /401 unauthorized.*COUNTERSIGN_API_KEY/,
    ],
    [
      'a missing scope',
      answerProblem(403, 'insufficient_scope'),
      'COUNTERSIGN_MISSING_SCOPE',
      /Detail of insufficient_scope.*Create a key/,
    ],
    [
      'a key of another agent',
      answerProblem(403, 'agent_not_allowed'),
      'COUNTERSIGN_AGENT_NOT_ALLOWED',
      /bound to other agents.*create a key/,
    ],
    [
      'a malformed action',
      invalid('/action', 'has a space'),
      'COUNTERSIGN_QUESTION_REFUSED',
      /\/action has a space.*Correct/,
    ],
    [
      'another server',
      answerText(200, '<h1>It works!</h1>'),
      'COUNTERSIGN_WRONG_ADDRESS',
      /gave no usable answer.*COUNTERSIGN_URL/,
    ],
    [
      'a path that is not there',
      answerProblem(404, 'not_found'),
      'COUNTERSIGN_WRONG_ADDRESS',
      /404 not_found.*baseUrl/,
    ],
    [
      'a clock that is ahead',
      answerDecision({ expires_at: minutes(-5) }),
      'COUNTERSIGN_CLOCK',
      /had expired 30\d s before it arrived.*NTP/,
    ],
    [
      'a clock that is behind',
      answerDecision({ evaluated_at: minutes(10) }),
      'COUNTERSIGN_CLOCK',
      /(600|59\d) s before it was made.*NTP/,
    ],
  ])('%s is told once', async (_what, answer, code, text) => {
    stub.answer(answer)
    for (let call = 0; call < 3; call += 1) await point.guard(asked, () => undefined).catch(() => undefined)
    await client.guard(asked, () => undefined).catch(() => undefined)
    expect(warnings).toEqual([[code, expect.stringMatching(text)]])
  })

  it('each scope that is missing is told, once', async () => {
    const lacking = (scope: string) =>
      answerJson(403, {
        status: 403,
        code: 'insufficient_scope',
        title: '',
        detail: `This needs the scope ${scope}; the key has audit:read.`,
      })
    for (const scope of ['decisions:write', 'permits:redeem', 'decisions:write', 'permits:redeem']) {
      stub.answer(lacking(scope))
      await rejectionOf(point.guard(asked, () => undefined))
    }
    expect(warnings.map(([code, text]) => `${code} ${/needs the scope (\S+);/.exec(text)?.[1]}`)).toEqual([
      'COUNTERSIGN_MISSING_SCOPE decisions:write',
      'COUNTERSIGN_MISSING_SCOPE permits:redeem',
    ])
  })

  it('the clock that the options give is the one that is looked at', async () => {
    stub.answer(answerDecision({ evaluated_at: minutes(10) }))
    const right = client.enforcement({ now: () => Date.now() + 10 * 60_000 })
    await rejectionOf(right.guard(asked, () => undefined))
    expect(warnings.filter(([, text]) => text.includes('before it was made'))).toEqual([])
  })

  it('a mapping that is mistaken is told for each function that is protected, whatever callers send to another', async () => {
    const misspelt = (order: { id?: string }) => `order:${(order as { address: { id: string } }).address.id}`
    for (const [action, resource] of [
      ['order.read', (order: { id?: string }) => `order:${order.id}`],
      ['order.refund', misspelt],
      ['order.cancel', misspelt],
    ] as const) {
      const act = point.protect((_order: { id?: string }) => undefined, { action, resource, agent_id: asked.agent_id })
      for (const order of [{}, { id: 'undefined' }, { id: 'null' }]) await rejectionOf(act(order))
    }
    expect(warnings.map(([code, text]) => `${code} ${/\((\S+( resource)?):/.exec(text)?.[1]}`)).toEqual([
      'COUNTERSIGN_MAPPING_FAILED order.read',
      'COUNTERSIGN_MAPPING_FAILED order.refund resource',
      'COUNTERSIGN_MAPPING_FAILED order.cancel resource',
    ])
  })

  it('a fault of very many places leaves room for others', async () => {
    for (let place = 0; place < 300; place += 1) {
      const act = point.protect(() => undefined, {
        action: `a${place}`,
        resource: () => 'order:undefined',
        agent_id: 'a',
      })
      await rejectionOf(act())
    }
    stub.answer(answerProblem(401, 'unauthorized'))
    await refused()
    expect(warnings.at(-1)?.[0]).toBe('COUNTERSIGN_WRONG_KEY')
    expect(warnings.length).toBeLessThan(50)
  })

  it('a decision point that is not there is told once', async () => {
    await stub.close()
    for (let call = 0; call < 3; call += 1) await refused()
    expect(warnings).toEqual([
      ['COUNTERSIGN_UNREACHABLE', expect.stringMatching(/ECONNREFUSED.*Start it.*COUNTERSIGN_URL/)],
    ])
    stub = await startStubDecisionPoint(answerDecision())
  })

  it('a question that cannot be sent, and a mapping that is mistaken, are told', async () => {
    await refused({ ...asked, context: { at: new Date() } })
    expect(warnings).toEqual([
      ['COUNTERSIGN_MAPPING_FAILED', expect.stringMatching(/context\.at is an instance of Date.*Correct/)],
    ])
    expect(stub.requests).toEqual([])
  })

  it('a malformed action hides no malformed resource', async () => {
    stub.answer(invalid('/action'))
    await refused()
    stub.answer(invalid('/resource'))
    await refused()
    stub.answer(invalid('/context/a'))
    for (const place of ['/context/b', '/context/c']) {
      await refused()
      stub.answer(invalid(place))
    }
    expect(warnings.map(([, text]) => /\((.*)\)/.exec(text)?.[1])).toEqual(
      ['/action', '/resource', '/context/a'].map((place) => expect.stringContaining(`${place} is not valid`)),
    )
  })

  it('a settlement that cannot be told by its own fault is told', async () => {
    await point.guard(asked, (_asked, run) => run.setAmount('40' as never))
    expect(warnings).toEqual([
      ['COUNTERSIGN_SETTLEMENT_FAULTY', expect.stringMatching(/decision dec_.*amount of a confirmation.*Correct/)],
    ])
  })

  it('what a caller or a policy brings about says nothing', async () => {
    for (const answer of [
      answerDecision({ effect: 'deny', status: 'denied', permit_token: undefined }),
      answerDecision({ effect: 'review', status: 'awaiting_review', permit_token: undefined }),
      answerProblem(409, 'already_claimed'),
      answerProblem(422, 'idempotency_key_reused'),
      answerProblem(429, 'rate_limited'),
      answerProblem(503, 'store_unavailable'),
    ]) {
      stub.answer(answer)
      await refused()
    }
    await rejectionOf(
      point.admit(() => {
        throw new Error('no such order')
      }),
    )
    expect(warnings).toEqual([])
  })

  it('forges no line, and shows neither key nor permit', async () => {
    stub.answer(invalid(`/context/a\n(node:1) [X] Warning: ${PERMIT} ${API_KEY}\u001b[2J`, 'x'.repeat(5_000)))
    await refused()
    const [[, text] = ['', '']] = warnings
    expect(text).toContain('/context/a\\u{a}')
    expect(text.length).toBeLessThan(1_500)
    for (const secret of [PERMIT, API_KEY, 'eyJ', 'cs_sk_', '\n', '\u001b']) expect(text).not.toContain(secret)
  })

  it('a trial of a guard, whose decision points are faulty on purpose, says nothing', async () => {
    stub.answer(answerProblem(401, 'unauthorized'))
    // As verifyGuard does it; the declarations hide it.
    const { over } = client as unknown as { over(open: <Own>(own: Own) => Own): Package.Countersign }
    const trial = over.call(client, (own) => own)
    expect(await rejectionOf(trial.guard(asked, () => undefined))).toMatchObject({ reason: 'refused' })
    expect(warnings).toEqual([])
    trial.close()
  })

  it('with one, nothing is said', async () => {
    stub.answer(answerProblem(401, 'unauthorized'))
    const onEvent = vi.fn()
    await rejectionOf(client.guard(asked, () => undefined, { onEvent }))
    expect([warnings, onEvent.mock.calls.length]).toEqual([[], 1])
  })

  it('nothing changes when nobody can be told', async () => {
    stub.answer(answerProblem(401, 'unauthorized'))
    vi.mocked(process.emitWarning).mockImplementation(() => {
      throw new Error('no')
    })
    expect(await refused()).toMatchObject({ reason: 'refused' })
  })

  it('a runtime that takes no warnings says it on its console', async () => {
    stub.answer(answerProblem(401, 'unauthorized'))
    const said = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    // The runner of the tests needs the rest.
    vi.stubGlobal('process', Object.create(process, { emitWarning: { value: undefined } }))
    try {
      await refused()
      await refused()
    } finally {
      vi.unstubAllGlobals()
    }
    expect(said.mock.calls).toEqual([[expect.stringContaining('CountersignWarning [COUNTERSIGN_WRONG_KEY]: ')]])
  })
})

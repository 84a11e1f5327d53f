/** Work without an end is denied: anyone who sends it holds up nobody for long, and nothing opens because of it. */
import { beforeEach, expect, it } from 'vitest'
import { readConfig } from '#server/config'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, makeKey, succeed } from './refunds.js'

let server: RunningServer
beforeEach(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  return () => server.stop()
})

const slowConditions = { $or: Array.from({ length: 4_200 }, () => ({ 'context.text': { $like: '*b*' } })) }
const SLOW = { name: 'slow', rules: [{ action: 'note.add', effect: 'allow', conditions: slowConditions }] }
const NOTE = { agent_id: 'agent:support-7', action: 'note.add', context: { text: 'a'.repeat(60_000) } }
const REASON = 'Evaluating this request takes more steps than allowed.'

it('a decision is a deny that names the rule and says what to mend, recorded as every other', async () => {
  const policy = await createPolicy(server, SLOW)
  const decision = await decide(server, NOTE)
  expect(decision).toMatchObject({
    effect: 'deny',
    status: 'denied',
    reason: REASON,
    reason_code: 'evaluation_limit',
    policy_id: policy.id,
    policy_revision: 1,
    rule: 0,
    advice: { retry: 'changed', message: expect.stringContaining('Shorten the texts and lists of the context') },
  })
  expect(decision).not.toHaveProperty('permit_token')
  expect(await succeed(server.call('GET', `/v1/decisions/${decision.id}`))).toMatchObject({
    reason_code: 'evaluation_limit',
  })
  expect(await decide(server, { ...NOTE, context: { text: 'abc' } })).toMatchObject({ effect: 'allow' })
})

it('a simulation and an explanation end where the evaluation does', async () => {
  const policy = await createPolicy(server, SLOW)
  const { id } = await decide(server, NOTE)
  const explanation = {
    effect: 'deny',
    summary: 'Denied: rule 1 of "slow" could not be judged within the steps of an evaluation.',
    nearest_miss: null,
    policies: [{ result: 'deny', decided: true, rules: [{ rule: 0, result: 'unknown', failed: [] }] }],
  }
  const { key } = await makeKey(server, ['policies:read'])
  const drafts = [{ id: 'draft', ...SLOW }]
  expect(
    await succeed(server.call('POST', '/v1/simulate', { body: { request: NOTE, policies: drafts }, key })),
  ).toMatchObject({ effect: 'deny', reason_code: 'evaluation_limit', policy_id: 'draft', rule: 0, explanation })
  expect(await succeed(server.call('POST', '/v1/simulate', { body: { request: NOTE }, key }))).toMatchObject({
    reason_code: 'evaluation_limit',
    policy_id: policy.id,
  })
  expect(await succeed(server.call('GET', `/v1/decisions/${id}/explanation`))).toMatchObject({
    decision_id: id,
    ...explanation,
  })
})

it('an explanation is of the limit that held when the decision was made', async () => {
  const many = {
    $or: [...Array(1500).fill({ 'context.text': { $like: '*b*' } }), { 'context.text': { $like: '*a*' } }],
  }
  await createPolicy(server, { name: 'many', rules: [{ action: 'many.add', effect: 'allow', conditions: many }] })
  await createPolicy(server, SLOW)
  const allowed = await decide(server, { ...NOTE, action: 'many.add', context: { text: 'a' } })
  const limited = await decide(server, NOTE)
  expect([allowed.effect, limited.reason_code]).toEqual(['allow', 'evaluation_limit'])
  const explanations = () =>
    Promise.all([allowed, limited].map(({ id }) => succeed(server.call('GET', `/v1/decisions/${id}/explanation`))))
  const [ofAllowed, ofLimited] = await explanations()

  server = await server.restart({ settings: { maxEvaluationSteps: 1000 } })
  expect((await explanations())[0]).toMatchObject({
    effect: 'allow',
    summary: ofAllowed.summary,
    policies: [{ result: 'allow', decided: true }, { decided: false }],
  })
  server = await server.restart({ settings: { maxEvaluationSteps: 10_000_000 } })
  expect(await explanations()).toMatchObject([
    ofAllowed,
    { ...ofLimited, policies: [{}, { result: 'deny', decided: true }] },
  ])
})

it('an approval and a claim that would take more are refused as what a policy denies', async () => {
  const review = { name: 'notes', rules: [{ action: 'note.add', effect: 'review' }] }
  const policy = await createPolicy(server, review)
  const asker = await makeKey(server, ['decisions:write'])
  const first = await decide(server, NOTE, asker.key)
  const second = await decide(server, NOTE, asker.key)
  await succeed(server.call('POST', `/v1/decisions/${second.id}/approve`, { body: {} }))
  await succeed(server.call('PUT', `/v1/policies/${policy.id}`, { body: { ...review, rules: SLOW.rules } }))

  const refused = { status: 409, body: { code: 'policy_denies', detail: REASON } }
  expect(await server.call('POST', `/v1/decisions/${first.id}/approve`, { body: {} })).toMatchObject(refused)
  expect(
    await server.call('POST', `/v1/decisions/${second.id}/claim`, { body: { holder: 'job' }, key: asker.key }),
  ).toMatchObject(refused)
  const status = async (id: string) => (await succeed(server.call('GET', `/v1/decisions/${id}`))).status
  expect([await status(first.id), await status(second.id)]).toEqual(['awaiting_review', 'approved'])
})

it('a shadow policy that would take more denies in the shadow alone', async () => {
  await createPolicy(server, { name: 'notes', rules: [{ action: 'note.add', effect: 'allow' }] })
  const shadow = await createPolicy(server, { ...SLOW, mode: 'shadow' })
  expect(await decide(server, NOTE)).toMatchObject({
    effect: 'allow',
    shadow: [{ policy_id: shadow.id, effect: 'deny', rule: 0 }],
  })
})

it('the request of a simulation is no larger than that of a decision', async () => {
  const body = (length: number) => ({ request: { ...NOTE, context: { text: 'a'.repeat(length) } } })
  const around = JSON.stringify(body(0).request).length
  expect((await server.call('POST', '/v1/simulate', { body: body(65_536 - around) })).status).toBe(200)
  expect(await server.call('POST', '/v1/simulate', { body: body(65_537 - around) })).toMatchObject({
    status: 400,
    body: {
      code: 'validation_failed',
      errors: [{ pointer: '/request', detail: 'must be at most 65536 bytes of JSON, as the body of a decision' }],
    },
  })
})

it('MAX_EVALUATION_STEPS sets how much is too much', async () => {
  expect(readConfig({}).maxEvaluationSteps).toBe(200_000)
  const slower = await server.restart({ settings: { maxEvaluationSteps: 4_200 * 4_000 } })
  server = slower
  await createPolicy(server, {
    ...SLOW,
    rules: [{ ...SLOW.rules[0], conditions: { $or: slowConditions.$or.slice(0, 60) } }],
  })
  expect(await decide(server, NOTE)).toMatchObject({ reason_code: 'no_matching_policy' })
})

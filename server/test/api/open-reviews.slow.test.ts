/** How many decisions may wait for a person: per agent and per API key, exactly, whatever comes at once. */
import { afterEach, expect, it } from 'vitest'
import { readConfig } from '#server/config'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, decide, everyItem, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'

let server: RunningServer
afterEach(() => server.stop())

async function run(
  settings: Parameters<typeof runServer>[0] extends infer Options
    ? Options extends { settings?: infer S }
      ? S
      : never
    : never,
) {
  server = await runServer({ settings: { rateLimitPerSecond: 0, ...settings } })
  return createPolicy(server, REFUNDS)
}

const effects = (decisions: readonly { effect: string }[]) => {
  const count = (effect: string) => decisions.filter((decision) => decision.effect === effect).length
  return { review: count('review'), deny: count('deny') }
}
const reviewFor = (agent: string) => ({ ...REVIEWED, agent_id: `agent:support-${agent}` })

it('lets exactly 100 of 200 that one agent asks at once wait; the rest are denied with the policy of the review', async () => {
  const policy = await run({})
  const decisions = await Promise.all(Array.from({ length: 200 }, () => decide(server, REVIEWED)))
  expect(effects(decisions)).toEqual({ review: 100, deny: 100 })
  for (const decision of decisions.filter(({ effect }) => effect === 'deny'))
    expect(decision).toMatchObject({
      status: 'denied',
      reason: 'Too many decisions of this agent or API key are waiting for review.',
      reason_code: 'too_many_reviews',
      policy_id: policy.id,
      policy_revision: 1,
      rule: 1,
      review: null,
      advice: {
        retry: 'never',
        message: 'Too many requests are already waiting for a person. Do not try again; tell the person you work for.',
      },
    })
  expect(await everyItem(server, '/v1/decisions?status=awaiting_review')).toHaveLength(100)
  expect(await everyItem(server, '/v1/audit?type=decision.created')).toHaveLength(200)
  expect((await decide(server, ALLOWED)).effect).toBe('allow')
  expect((await decide(server, reviewFor('other'))).effect).toBe('review')
})

it('lets exactly as many wait for one API key as set, whatever agents it invents', async () => {
  await run({ maxOpenReviewsPerKey: 20 })
  const decisions = await Promise.all(Array.from({ length: 200 }, (_, i) => decide(server, reviewFor(`a${i}`))))
  expect(effects(decisions)).toEqual({ review: 20, deny: 180 })
  const { key } = await makeKey(server, ['decisions:write'])
  expect((await decide(server, reviewFor('a1'), key)).effect).toBe('review')
})

it('counts an agent over all keys', async () => {
  await run({ maxOpenReviews: 3 })
  const keys = await Promise.all([1, 2, 3, 4].map(() => makeKey(server, ['decisions:write'])))
  const decisions = await Promise.all(keys.map(({ key }) => decide(server, REVIEWED, key)))
  expect(effects(decisions)).toEqual({ review: 3, deny: 1 })
})

it('frees a slot at the very moment a review expires', async () => {
  await run({ maxOpenReviews: 2, reviewTtlSeconds: 100 })
  await decide(server, REVIEWED)
  server.clock.advance(1000)
  await decide(server, REVIEWED)
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
  server.clock.advance(98_999)
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
  server.clock.advance(1)
  expect((await decide(server, REVIEWED)).effect).toBe('review')
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
  server.clock.advance(1000)
  expect((await decide(server, REVIEWED)).effect).toBe('review')
})

it('frees a slot as soon as a person decides the review or the asker takes it back', async () => {
  await run({ maxOpenReviews: 2, maxOpenReviewsPerKey: 2 })
  const { id: first } = await decide(server, REVIEWED)
  let { id } = await decide(server, REVIEWED)
  for (const verb of ['approve', 'decline', 'reject']) {
    expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
    await succeed(server.call('POST', `/v1/decisions/${id}/${verb}`))
    // An approved one does not wait any more.
    id = (await decide(server, REVIEWED)).id
    expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
    server = await server.restart()
  }
  // A slot is released once, whatever comes after.
  await succeed(server.call('POST', `/v1/decisions/${first}/approve`))
  await succeed(server.call('POST', `/v1/decisions/${first}/reject`))
  expect((await decide(server, REVIEWED)).effect).toBe('review')
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
})

it('counts a review that a budget asks for', async () => {
  await run({ maxOpenReviews: 1 })
  const budget = { limit: 0, unit: 'calls', period: 'total', amount: 1, on_exceed: 'review' }
  const policy = await createPolicy(server, {
    name: 'calls',
    rules: [{ action: 'call.make', effect: 'allow' }],
    budget,
  })
  const asked = { agent_id: 'agent:a', action: 'call.make' }
  expect(await decide(server, asked)).toMatchObject({ effect: 'review', reason_code: 'budget_exceeded' })
  expect(await decide(server, asked)).toMatchObject({
    effect: 'deny',
    reason_code: 'too_many_reviews',
    policy_id: policy.id,
    rule: 0,
  })
})

it('takes no slot for a replay', async () => {
  await run({ maxOpenReviews: 2 })
  const headers = { 'Idempotency-Key': 'one-slot' }
  const again = () => succeed(server.call('POST', '/v1/decisions', { body: REVIEWED, headers }))
  const ids = await Promise.all(Array.from({ length: 20 }, async () => (await again()).id))
  expect(new Set(ids).size).toBe(1)
  expect((await decide(server, REVIEWED)).effect).toBe('review')
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
  expect((await again()).id).toBe(ids[0])
})

it('counts on after a restart', async () => {
  await run({ maxOpenReviews: 2 })
  await decide(server, REVIEWED)
  await decide(server, REVIEWED)
  server = await server.restart()
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
  server.clock.advance(86_400_000)
  expect((await decide(server, REVIEWED)).effect).toBe('review')
})

it('can be none at all', async () => {
  await run({ maxOpenReviews: 0 })
  expect((await decide(server, REVIEWED)).reason_code).toBe('too_many_reviews')
})

it('is 100 for an agent and 1,000 for a key unless set', async () => {
  await run({})
  expect(readConfig({})).toMatchObject({ maxOpenReviews: 100, maxOpenReviewsPerKey: 1000 })
})

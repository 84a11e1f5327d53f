/** Waiting for a review by the SDK, against the real server, in real time: of all that can happen, only a permit resolves. */
import { Countersign, type CountersignOptions, isPermitted, NotPermittedError, type Policy } from '@countersign/client'
import { createPermitVerifier } from '@countersign/permit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningServer, runServer, TestClock } from './running-server.js'

const asked = { agent_id: 'agent:billing-1', action: 'invoice.pay', resource: 'invoice:17' }
const question = { ...asked, context: { amount: 300 } }

/** The present time, and on from there as a test says: the SDK compares with the clock of this machine. */
class MovableClock extends TestClock {
  #ahead = 0
  override now(): Date {
    return new Date(Date.now() + this.#ahead)
  }
  override advance(milliseconds: number): void {
    this.#ahead += milliseconds
  }
}

describe('waitForReview', () => {
  let server: RunningServer
  let policy: Policy
  let reviewer: Countersign
  /** May do no more than ask. */
  let bot: Countersign
  let botKey: string
  let clients: Countersign[]

  const open = (apiKey: string, options: CountersignOptions = {}): Countersign => {
    const client = new Countersign({ baseUrl: server.url, apiKey, ...options })
    clients.push(client)
    return client
  }

  beforeEach(async () => {
    clients = []
    server = await runServer({ clock: new MovableClock(), settings: { rateLimitPerSecond: 0 } })
    const admin = open(server.key)
    policy = await admin.policies.create({
      name: 'invoices',
      rules: [{ action: 'invoice.pay', effect: 'review' }],
      budget: { limit: 1000, unit: 'EUR', period: 'monthly' },
    })
    const { key } = await admin.keys.create({ name: 'people', scopes: ['reviews:write', 'decisions:settle'] })
    reviewer = open(key)
    botKey = (await admin.keys.create({ name: 'bots', scopes: ['decisions:write'], agents: ['agent:*'] })).key
    bot = open(botKey)
  })
  afterEach(async () => {
    for (const client of clients) client.close()
    await server.stop()
  })

  const admin = (): Countersign => clients[0] as Countersign
  const outcomeOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

  it('resolves with a permit that verifies, for a key that may only ask', async () => {
    const decision = await bot.authorize(question)
    expect([decision.status, decision.permit_token]).toEqual(['awaiting_review', undefined])
    const waiting = bot.decisions.waitForReview(decision)
    await reviewer.decisions.approve(decision.id, { comment: 'checked' })
    const permitted = await waiting
    expect(isPermitted(permitted, asked)).toBe(true)
    expect(permitted).toMatchObject({ id: decision.id, effect: 'review', review: { comment: 'checked' } })
    const verifier = createPermitVerifier({ jwks: await bot.jwks(), issuer: server.url, audience: server.url })
    const { action, resource } = asked
    expect(await verifier.verify(permitted.permit_token, { action, resource })).toMatchObject({
      jti: decision.id,
      effect: 'review',
      amount: 300,
    })
    await bot.decisions.confirm(decision.id, { amount: 280 })
    expect((await admin().policies.budget(policy.id).page()).data).toMatchObject([{ spent: 280, reserved: 0 }])
  })

  it('lets one of a hundred jobs that resume one decision run it', async () => {
    const { id } = await bot.authorize(question)
    const jobs = Array.from({ length: 100 }, (_, index) => bot.decisions.waitForReview(id, { holder: `job-${index}` }))
    await reviewer.decisions.approve(id)
    const outcomes = await Promise.all(jobs.map(outcomeOf))
    const lost = outcomes.filter((outcome) => NotPermittedError.isInstance(outcome))
    expect(outcomes.length - lost.length).toBe(1)
    expect(new Set(lost.map(({ reason }) => reason))).toEqual(new Set(['already_claimed']))
    const winner = outcomes.findIndex((outcome) => !NotPermittedError.isInstance(outcome))
    // Its process restarts: the same job, the same permit.
    const again = await open(botKey).decisions.waitForReview(id, { holder: `job-${winner}` })
    expect(again).toMatchObject({ id, status: 'authorized' })
    expect(isPermitted(again, asked)).toBe(true)
  })

  it.each([
    ['declined', ({ id }: { id: string }) => reviewer.decisions.decline(id, { comment: 'not this one' })],
    ['withdrawn', ({ id }: { id: string }) => bot.decisions.reject(id)],
    ['expired', async () => server.clock.advance(24 * 60 * 60 * 1000)],
  ])('rejects when it is %s', async (reason, happens) => {
    const decision = await bot.authorize(question)
    const waiting = outcomeOf(bot.decisions.waitForReview(decision))
    await happens(decision)
    expect(await waiting).toMatchObject({ name: 'NotPermittedError', reason, decision_id: decision.id })
    expect((await admin().policies.budget(policy.id).page()).data).toMatchObject([{ spent: 0, reserved: 0 }])
  })

  it('rejects what was approved and not claimed in time', async () => {
    const decision = await bot.authorize(question)
    await reviewer.decisions.approve(decision.id)
    server.clock.advance(60 * 60 * 1000)
    expect(await outcomeOf(bot.decisions.waitForReview(decision))).toMatchObject({ reason: 'expired' })
  })

  it('rejects when the policies deny it by then, and lets it run when they do not any more', async () => {
    const decision = await bot.authorize({ ...question, holder: 'job-1' })
    await reviewer.decisions.approve(decision.id)
    const { revision: _, ...document } = policy
    await admin().policies.update(policy.id, { ...document, rules: [{ action: '*', effect: 'deny' }] })
    expect(await outcomeOf(bot.decisions.waitForReview(decision))).toMatchObject({ reason: 'policy_denies' })
    await admin().policies.update(policy.id, document)
    expect(await bot.decisions.waitForReview(decision)).toMatchObject({ status: 'authorized' })
  })

  it('rejects while the agent is suspended', async () => {
    const decision = await bot.authorize(question)
    await reviewer.decisions.approve(decision.id)
    await admin().agents.suspend(asked.agent_id)
    expect(await outcomeOf(bot.decisions.waitForReview(decision))).toMatchObject({ reason: 'agent_suspended' })
  })

  it('fails for another key than the one that asked', async () => {
    const decision = await bot.authorize(question)
    await reviewer.decisions.approve(decision.id)
    expect(await outcomeOf(admin().decisions.waitForReview(decision.id))).toMatchObject({
      name: 'ApiError',
      code: 'not_asker',
    })
  })

  it('claims nothing that was authorized at once', async () => {
    await admin().policies.update(policy.id, { ...policy, rules: [{ action: 'invoice.pay', effect: 'allow' }] })
    const decision = await bot.authorize(question)
    expect(await bot.decisions.waitForReview(decision)).toEqual(decision)
    expect(await outcomeOf(bot.decisions.waitForReview(decision.id))).toMatchObject({ reason: 'not_reviewed' })
  })

  it('outlasts a restart of the decision point', async () => {
    const decision = await bot.authorize(question)
    const waiting = bot.decisions.waitForReview(decision)
    server = await server.restart({ settings: { port: Number(new URL(server.url).port) } })
    await reviewer.decisions.approve(decision.id)
    const permitted = await waiting
    expect(isPermitted(permitted, asked)).toBe(true)
  })

  it('gives up at its time limit, and can be waited for again', async () => {
    const decision = await bot.authorize(question)
    expect(await outcomeOf(bot.decisions.waitForReview(decision, { timeoutMs: 300 }))).toMatchObject({
      name: 'UnavailableError',
      kind: 'timeout',
    })
    await reviewer.decisions.approve(decision.id)
    expect(await bot.decisions.waitForReview(decision)).toMatchObject({ status: 'authorized' })
  })
})

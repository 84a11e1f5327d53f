/** The client without enforcement and management against the real server: a program asks, waits, settles and reads. */
import { Countersign } from '@countersign/client'
import { ApiError, DecisionClient, isPermitted, NotPermittedError } from '@countersign/client/decisions'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningServer, runServer, TestClock } from './running-server.js'

const AGENT = 'agent:billing-1'
const asked = { agent_id: AGENT, action: 'invoice.pay', resource: 'invoice:17' }

/** The SDK compares with the clock of this machine. */
class RunningClock extends TestClock {
  override now(): Date {
    return new Date()
  }
}

describe('a client of decisions', () => {
  let server: RunningServer
  let operator: Countersign
  let client: DecisionClient

  beforeEach(async () => {
    server = await runServer({ clock: new RunningClock() })
    operator = new Countersign({ baseUrl: server.url, apiKey: server.key })
    await operator.policies.create({
      name: 'invoices',
      rules: [
        { action: 'invoice.pay', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
        { action: 'invoice.pay', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
      ],
      budget: { limit: 1000, unit: 'EUR', period: 'monthly' },
    })
    const { key } = await operator.keys.create({ name: 'billing', scopes: ['decisions:write', 'decisions:read'] })
    client = new DecisionClient({ baseUrl: server.url, apiKey: key, agentId: AGENT })
  })
  afterEach(async () => {
    client.close()
    operator.close()
    await server.stop()
  })

  it('asks, acts and settles, and a budget counts what was really spent', async () => {
    const decision = await client.authorize({ ...asked, context: { amount: 80 } })
    expect(isPermitted(decision, asked)).toBe(true)
    expect(await client.decisions.confirm(decision.id, { amount: 75 })).toMatchObject({ status: 'confirmed' })
    const unused = await client.authorize({ ...asked, context: { amount: 20 } })
    expect(await client.decisions.reject(unused.id, { reason: 'not needed' })).toMatchObject({ status: 'rejected' })
    expect((await operator.budgets.list().page()).data).toMatchObject([{ spent: 75, reserved: 0, remaining: 925 }])
    const listed = []
    for await (const { id } of client.decisions.list({ agent_id: AGENT, limit: 1 })) listed.push(id)
    expect(listed).toEqual([unused.id, decision.id])
    expect(await client.decisions.get(decision.id)).toMatchObject({ status: 'confirmed', context: { amount: 80 } })
  })

  it('is told of a deny, which permits nothing', async () => {
    const decision = await client.authorize({ ...asked, context: { amount: 5000 } })
    expect(decision).toMatchObject({ effect: 'deny', status: 'denied' })
    expect(isPermitted(decision, asked)).toBe(false)
  })

  it('waits until a person has approved, and claims the permit', async () => {
    const decision = await client.authorize({ ...asked, context: { amount: 300 }, holder: 'run-77' })
    expect(decision).toMatchObject({ effect: 'review', status: 'awaiting_review' })
    const waiting = client.decisions.waitForReview(decision)
    await operator.decisions.approve(decision.id, { comment: 'checked' })
    const permitted = await waiting
    expect(isPermitted(permitted, asked)).toBe(true)
    expect(permitted).toMatchObject({ id: decision.id, permit_token: expect.stringMatching(/^ey/) })
  })

  it('throws when a person has declined, and when the server refuses', async () => {
    const decision = await client.authorize({ ...asked, context: { amount: 300 } })
    await operator.decisions.decline(decision.id, { comment: 'not this one' })
    const declined = await client.decisions.waitForReview(decision).catch((error: unknown) => error)
    expect(NotPermittedError.isInstance(declined)).toBe(true)
    expect(declined).toMatchObject({ reason: 'declined', decision_id: decision.id, comment: 'not this one' })
    const refused = await client.decisions.approve(decision.id).catch((error: unknown) => error)
    expect(ApiError.isInstance(refused)).toBe(true)
    expect(refused).toMatchObject({ status: 403, code: 'insufficient_scope' })
  })
})

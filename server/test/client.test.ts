/** The SDK against the real server: every method once, with what the server makes of it. */
import { createPublicKey, verify } from 'node:crypto'
import { ExportVerifier } from '@countersign/audit-log'
import { ApiError, Countersign, type CountersignClient, isPermitted, type Policy } from '@countersign/client'
import { verifyGuard } from '@countersign/client/verify'
import { SeenWebhooks, verifyWebhook } from '@countersign/client/webhook'
import { createPermitVerifier } from '@countersign/permit'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it, type MockInstance, vi } from 'vitest'
import { startReceiver } from './feed/webhooks/receiver.js'
import { type RunningServer, runServer, TestClock } from './running-server.js'

const AGENT = 'team/support+7@eu'
const document = {
  name: 'refunds',
  rules: [
    { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
    { action: 'payment.refund', effect: 'review', reason: 'Refunds over 100 need a person.' },
  ],
} as const
const asked = { agent_id: AGENT, action: 'payment.refund', resource: 'order:8812' }
const permitted = { ...asked, context: { amount: 42.5 } }
const reviewed = { ...asked, context: { amount: 420 } }

/** For what waits in real time. */
class RunningClock extends TestClock {
  override now(): Date {
    return new Date()
  }
}

describe('the SDK', () => {
  let server: RunningServer
  let client: Countersign
  let policy: Policy
  const calls = new Map<string, MockInstance>()

  const open = (apiKey: string, agentId?: string): Countersign =>
    new Countersign({ baseUrl: server.url, apiKey, agentId, timeoutMs: 15_000 })

  beforeAll(async () => {
    server = await runServer({ settings: { webhookAllowPrivate: true } })
    client = open(server.key)
    for (const [holder, object] of [['client', client], ...Object.entries(client)] as [string, object][]) {
      for (
        let proto = Object.getPrototypeOf(object);
        proto !== Object.prototype;
        proto = Object.getPrototypeOf(proto)
      ) {
        for (const name of Object.getOwnPropertyNames(proto).filter((member) => member !== 'constructor')) {
          calls.set(`${holder}.${name}`, vi.spyOn(object as Record<string, () => unknown>, name))
        }
      }
    }
    policy = await client.policies.create(document)
  })
  afterAll(() => server.stop())

  it('creates, reads, changes, lists and deletes policies', async () => {
    expect(policy).toMatchObject({ ...document, revision: 1, enabled: true })
    expect(await client.policies.get(policy.id)).toEqual(policy)
    const other = await client.policies.create({ name: 'other', rules: [{ action: 'mail.send', effect: 'deny' }] })
    const changed = await client.policies.update(other.id, { ...other, priority: 5 }, { ifRevision: 1 })
    expect(changed).toMatchObject({ revision: 2, priority: 5 })
    await expect(client.policies.update(other.id, other, { ifRevision: 1 })).rejects.toMatchObject({
      status: 412,
      code: 'revision_mismatch',
    })
    const revisions = []
    for await (const { revision } of client.policies.revisions(other.id, { limit: 1 })) revisions.push(revision)
    expect(revisions).toEqual([2, 1])
    const names = []
    for await (const { name } of client.policies.list({ limit: 1 })) names.push(name)
    expect(names).toEqual(['other', 'refunds'])
    expect(await client.policies.delete(other.id)).toBeUndefined()
    await expect(client.policies.get(other.id)).rejects.toMatchObject({ status: 404, code: 'not_found' })
  })

  it('says what is wrong with a policy', async () => {
    expect(await client.policies.validate(document)).toMatchObject({ valid: true, errors: [] })
    const faulty = { ...document, rules: [{ action: 'a b', effect: 'permit' }] }
    const { valid, errors } = await client.policies.validate(faulty)
    expect([valid, errors.map(({ pointer }) => pointer)]).toEqual([false, ['/rules/0/action', '/rules/0/effect']])
    const error = await client.policies.create(faulty as never).catch((thrown: unknown) => thrown)
    expect(ApiError.isInstance(error) && error.errors).toEqual(errors)
    await expect(client.policies.create(document)).rejects.toMatchObject({ status: 409, code: 'policy_name_taken' })
  })

  it('are written by name, as often as the program runs', async () => {
    const named = { name: 'named/by the client', rules: [{ action: 'mail.archive', effect: 'allow' as const }] }
    const first = await client.policies.putByName(named, { onlyCreate: true })
    const second = await client.policies.putByName({ ...named, priority: 1 }, { ifRevision: 1 })
    expect([first.revision, second.revision, second.id === first.id]).toEqual([1, 2, true])
    expect(await client.policies.getByName(named.name)).toEqual(second)
    const isTaken = { status: 412, code: 'revision_mismatch' }
    await expect(client.policies.putByName(named, { onlyCreate: true })).rejects.toMatchObject(isTaken)
    await expect(client.policies.putByName(named, { ifRevision: 1 })).rejects.toMatchObject(isTaken)
    await client.policies.delete(first.id)
  })

  it('asks, and permits what was allowed until it expires', async () => {
    const decision = await client.authorize(permitted)
    expect(decision).toMatchObject({ ...asked, effect: 'allow', status: 'authorized', policy_id: policy.id, rule: 0 })
    expect(isPermitted(decision, asked, server.clock.now())).toBe(true)
    expect(isPermitted(decision, asked, new Date(decision.expires_at))).toBe(false)
    const review = await client.authorize(reviewed)
    expect(review).toMatchObject({ effect: 'review', status: 'awaiting_review', advice: { retry: 'after_approval' } })
    const deny = await client.authorize({ agent_id: AGENT, action: 'mail.send' })
    expect(deny).toMatchObject({ status: 'denied', reason_code: 'no_matching_policy', resource: null })
    expect([review, deny].some((other) => isPermitted(other, other, server.clock.now()))).toBe(false)
  })

  it('gets the same decision again for the same idempotency key and holder, and no other holder gets it', async () => {
    const job = { ...permitted, idempotencyKey: 'run-77/refund-1', holder: 'run-77' }
    const first = await client.authorize(job)
    expect(await client.authorize(job)).toEqual(first)
    await expect(client.authorize({ ...job, holder: 'run-78' })).rejects.toMatchObject({ code: 'already_claimed' })
    await expect(client.authorize({ ...job, action: 'mail.send' })).rejects.toMatchObject({ status: 422 })
  })

  it('reads, lists and explains decisions', async () => {
    const { id } = await client.authorize(reviewed)
    expect(await client.decisions.get(id)).toMatchObject({ id, ...reviewed, status: 'awaiting_review' })
    // The wait is longer than the time limit, which counts from its end.
    const waited = await client.decisions.get(id, { waitSeconds: 1, timeoutMs: 900 })
    expect(waited).toMatchObject({ id, status: 'awaiting_review' })
    const { data } = await client.decisions
      .list({ agent_id: AGENT, effect: 'review', status: 'awaiting_review', limit: 1 })
      .page()
    expect(data).toMatchObject([{ id }])
    const explanation = await client.decisions.explanation(id)
    expect(explanation).toMatchObject({
      decision_id: id,
      effect: 'review',
      policies: [{ policy_id: policy.id, decided: true }],
    })
    expect(explanation.policies[0]?.rules[0]?.failed).toEqual([
      { path: 'context.amount', operator: '$lte', expected: 100, actual: 420 },
    ])
  })

  it('confirms, rejects and corrects, and tells what it did to the budget', async () => {
    const { id } = await client.policies.create({
      name: 'invoices',
      rules: [{ action: 'invoice.pay', effect: 'allow' }],
      budget: { limit: 500, unit: 'EUR', period: 'monthly' },
    })
    const made = await client.keys.create({ name: 'billing', scopes: ['decisions:write'] })
    const bot = open(made.key, AGENT)
    const pay = (amount: number) => bot.authorize({ action: 'invoice.pay', context: { amount } })
    const balance = async () => {
      const { data } = await client.policies.budget(id).page()
      return data.map(({ spent, reserved, remaining }) => [spent, reserved, remaining])
    }
    const [first, second] = [await pay(80), await pay(20)]
    expect(await balance()).toEqual([[0, 100, 400]])
    const confirmed = await bot.decisions.confirm(first.id, { amount: 75, note: 'a discount' })
    expect(confirmed).toMatchObject({ status: 'confirmed', outcome: { amount: 75, note: 'a discount' } })
    expect(await bot.decisions.confirm(first.id, { amount: 75 })).toEqual(confirmed)
    await bot.decisions.reject(second.id, { reason: 'paid twice' })
    expect(await balance()).toEqual([[75, 0, 425]])
    await expect(bot.decisions.reject(first.id)).rejects.toMatchObject({
      code: 'invalid_transition',
      current_status: 'confirmed',
    })
    // By the key that did not ask.
    expect(await client.decisions.confirm(first.id, { amount: 75 })).toMatchObject({ id: first.id })
    expect(await client.decisions.reject(second.id)).toMatchObject({ id: second.id })
    expect(await client.decisions.correct(first.id, { result: 'confirmed', amount: 0.75 })).toMatchObject({
      outcome: { amount: 0.75, corrected: true },
    })
    const accounts = []
    for await (const account of client.budgets.list({ limit: 1 })) accounts.push(account)
    expect(accounts).toMatchObject([{ policy_id: id, agent_id: null, unit: 'EUR', limit: 500, spent: 0.75 }])
    expect(await client.policies.budgetHistory(id).page()).toEqual({ data: [], next_cursor: null })
    server.clock.advance(31 * 24 * 60 * 60 * 1000)
    expect(await balance()).toEqual([[0, 0, 500]])
    const past = []
    for await (const { spent, resets_at } of client.policies.budgetHistory(id)) past.push([spent, resets_at])
    expect(past).toEqual([[0.75, '2026-12-01T00:00:00.000Z']])
    bot.close()
  })

  it('approves and declines reviews, claims what was approved, and waits for it', async () => {
    // The SDK asks this machine's clock whether a permit is over.
    vi.useFakeTimers({ toFake: ['Date'], now: server.clock.now() })
    try {
      const decision = await client.authorize({ ...reviewed, holder: 'run-77' })
      const waiting = client.decisions.waitForReview(decision)
      expect(await client.decisions.approve(decision.id, { comment: 'checked' })).toMatchObject({
        status: 'approved',
        review: { comment: 'checked' },
      })
      const permitted = await waiting
      expect(isPermitted(permitted, asked)).toBe(true)
      expect(await client.decisions.claim(decision.id, { holder: 'run-77' })).toEqual(permitted)
      await expect(client.decisions.claim(decision.id)).rejects.toMatchObject({ code: 'already_claimed' })
      const other = await client.authorize(reviewed)
      expect(await client.decisions.decline(other.id, { comment: 'not now' })).toMatchObject({ status: 'declined' })
      await expect(client.decisions.waitForReview(other)).rejects.toMatchObject({
        name: 'NotPermittedError',
        reason: 'declined',
        comment: 'not now',
      })
    } finally {
      vi.useRealTimers()
    }
  })

  it('tells what an agent can ever get', async () => {
    const actions = [asked.action, 'nothing.known']
    const { data } = await client.capabilities({ agent_id: asked.agent_id, actions })
    expect(data.map(({ action }) => action)).toEqual(actions)
    expect(data[0]?.effects).toContain((await client.authorize(permitted)).effect)
    expect(data[1]?.effects).toEqual(['deny'])
  })

  it('simulates with the stored policies and with others', async () => {
    expect(await client.simulate({ request: permitted })).toMatchObject({ effect: 'allow', policy_id: policy.id })
    const policies = [{ id: 'pol_mine', name: 'mine', rules: [{ action: '*', effect: 'deny' }] }] as const
    expect(await client.simulate({ request: permitted, policies })).toMatchObject({
      effect: 'deny',
      policy_id: 'pol_mine',
    })
  })

  it('verifies a permit offline, and redeems it once', async () => {
    const { permit_token = '', id } = await client.authorize(permitted)
    const verifier = createPermitVerifier({
      jwks: await client.jwks(),
      issuer: server.url,
      audience: server.url,
      now: () => server.clock.now().getTime(),
    })
    expect(await verifier.verify(permit_token, { action: asked.action, resource: asked.resource })).toMatchObject({
      jti: id,
    })
    const redeemed = await client.permits.redeem(permit_token)
    expect(redeemed).toMatchObject({ id, status: 'authorized' })
    expect(isPermitted(redeemed, asked, server.clock.now())).toBe(true)
    await expect(client.permits.redeem(permit_token)).rejects.toMatchObject({ code: 'permit_already_used' })
    await expect(client.permits.redeem('a.b.c')).rejects.toMatchObject({ status: 400, code: 'permit_invalid' })
  })

  it('makes, reads, lists, rotates and revokes keys', async () => {
    const made = await client.keys.create({ name: 'bots', scopes: ['decisions:write'], agents: ['team/*'] })
    const { key, ...shown } = made
    expect(await client.keys.get(made.id)).toEqual(shown)
    expect((await client.keys.list({ limit: 1 }).page()).data).toEqual([shown])
    const bot = open(key, AGENT)
    expect(
      await bot.authorize({ action: asked.action, resource: asked.resource, context: { amount: 1 } }),
    ).toMatchObject(asked)
    await expect(bot.policies.get(policy.id)).rejects.toMatchObject({ status: 403, code: 'insufficient_scope' })
    expect(await bot.keys.self()).toMatchObject({ id: made.id })
    expect(await client.keys.self()).toMatchObject({ scopes: ['*'] })
    const rotated = await client.keys.rotate(made.id, { graceSeconds: 0 })
    expect(rotated.id).toBe(made.id)
    await expect(bot.keys.self()).rejects.toMatchObject({ status: 401, code: 'unauthorized' })
    const again = open(rotated.key)
    expect(await again.keys.self()).toMatchObject({ id: made.id })
    expect(await client.keys.revoke(made.id)).toBeUndefined()
    await expect(again.keys.self()).rejects.toMatchObject({ status: 401 })
    bot.close()
    again.close()
  })

  it('registers, reads, changes, suspends, resumes, lists and deletes agents, whatever stands in their ids', async () => {
    const made = await client.agents.create({ id: AGENT, name: 'Support', metadata: { region: 'eu' } })
    expect(made).toMatchObject({ id: AGENT, registered: true, suspended: null })
    await expect(client.agents.create({ id: AGENT })).rejects.toMatchObject({ code: 'agent_exists' })
    expect(await client.agents.update(AGENT, { name: 'Support EU' })).toMatchObject({
      name: 'Support EU',
      metadata: {},
    })
    expect(await client.agents.get(AGENT)).toMatchObject({ name: 'Support EU' })
    expect(await client.agents.suspend(AGENT, { reason: 'odd refunds' })).toMatchObject({
      suspended: { reason: 'odd refunds' },
    })
    expect(await client.authorize(permitted)).toMatchObject({ effect: 'deny', reason_code: 'agent_suspended' })
    await expect(client.agents.delete(AGENT)).rejects.toMatchObject({ status: 409, code: 'agent_suspended' })
    expect(await client.agents.resume(AGENT)).toMatchObject({ suspended: null })
    const ids = []
    for await (const { id } of client.agents.list()) ids.push(id)
    expect(ids).toContain(AGENT)
    expect(await client.agents.delete(AGENT)).toBeUndefined()
    expect(await client.agents.get(AGENT)).toMatchObject({ registered: false })
  })

  it('lists the audit log', async () => {
    const { id } = await client.authorize(permitted)
    const { data } = await client.audit.list({ decision_id: id }).page()
    expect(data).toMatchObject([{ type: 'decision.created', subject: id, agent_id: AGENT }])
    const created = []
    for await (const { subject } of client.audit.list({ type: 'policy.created', limit: 1 })) created.push(subject)
    expect(created).toContain(policy.id)
  })

  it('follows the audit log, oldest first', async () => {
    const { id } = await client.authorize(permitted)
    const entries = []
    for await (const { data } of client.audit.follow({ limit: 100 })) {
      entries.push(...data)
      if (data.some(({ subject }) => subject === id)) break
    }
    expect(entries.map(({ index }) => index)).toEqual(entries.map((_, i) => i))
  })

  it('gets proofs of a decision, the newest checkpoints, and how a log goes on', async () => {
    const { id } = await client.authorize(permitted)
    expect(await client.audit.records({ kind: 'decision', id }).page()).toMatchObject({ data: [{ id }] })
    const { data } = await client.audit.proof(id)
    expect(data).toMatchObject([{ entry: { subject: id }, inclusion: { path: expect.any(Array) } }])
    const { root, data: logs } = await client.audit.checkpoints()
    expect(logs).toMatchObject([{ log: data[0]?.entry.log }])
    const size = root?.size ?? 0
    expect(await client.audit.consistency({ from: size })).toMatchObject({ log: null, from: size, path: [] })
    const log = logs[0]?.log
    expect(await client.audit.consistency({ log, from: 0 })).toMatchObject({ log, from: 0 })
    await expect(client.audit.consistency({ log: 'none', from: 0 })).rejects.toMatchObject({ code: 'not_found' })
    const nobody = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    await expect(client.audit.proof(nobody)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('exports the audit log, which verifies', async () => {
    const { keys } = await client.jwks()
    const verifier = new ExportVerifier({
      publicKeys: keys.map(({ x }) => Buffer.from(x, 'base64url')),
      verify: (publicKey, message, signature) => {
        const x = Buffer.from(publicKey).toString('base64url')
        const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
        return verify(null, message, key, signature)
      },
    })
    for await (const line of client.audit.export()) await verifier.add(line)
    const { logs, checkpoints } = verifier.end()
    expect([...logs.values()].every((size) => size > 0)).toBe(true)
    expect(checkpoints).toBeGreaterThan(0)
  })

  it('erases the request of a decision, and all requests of an agent', async () => {
    const asked = { ...permitted, agent_id: 'agent:to-be-forgotten' }
    const [first, ...others] = await Promise.all([
      client.authorize(asked),
      client.authorize(asked),
      client.authorize(asked),
    ])
    expect(await client.audit.eraseRequest(first.id)).toBeUndefined()
    await client.audit.eraseRequest(first.id)
    const erased = { resource: null, context: null, request_hash: null, request_erased_at: expect.any(String) }
    expect(await client.decisions.get(first.id)).toMatchObject({ ...erased, effect: 'allow' })
    expect(await client.audit.eraseRequests({ agent_id: asked.agent_id })).toEqual({
      agent_id: asked.agent_id,
      erased: 2,
    })
    for (const { id } of others) expect(await client.decisions.get(id)).toMatchObject(erased)
    expect(await client.decisions.confirm(first.id)).toMatchObject({ status: 'confirmed', resource: null })
    expect((await client.audit.proof(first.id)).data.map(({ entry }) => entry.type)).toEqual([
      'decision.created',
      'request.erased',
      'decision.confirmed',
    ])
    const nobody = first.id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    await expect(client.audit.eraseRequest(nobody)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('follows decisions as they happen, misses none once it is connected, and goes on where it was', async () => {
    const asking: Promise<unknown>[] = []
    const onConnect = () => void asking.push(client.authorize(permitted))
    const ids: string[] = []
    for await (const { id, type, data } of client.events({ agent_id: AGENT, onConnect })) {
      expect(type).toBe('decision.created')
      expect(await Promise.all(asking)).toMatchObject([{ id: data.id, effect: 'allow' }])
      ids.push(id)
      break
    }
    const second = await client.authorize(permitted)
    for await (const { data } of client.events({ agent_id: AGENT, lastEventId: ids[0] })) {
      expect(data.id).toBe(second.id)
      break
    }
    const strange = client.events({ lastEventId: 'nothing' }).next()
    await expect(strange).rejects.toMatchObject({ status: 400, code: 'invalid_cursor' })
  })

  it('counts decisions', async () => {
    const { total, data } = await client.stats({ interval: 'day', group: 'agent' })
    expect(total.effects.allow).toBeGreaterThan(0)
    expect(data.map(({ value }) => value)).toContain(AGENT)
  })

  it('makes, reads, lists, changes and deletes webhooks, whose deliveries verify, are tried again and replayed', async () => {
    const receiver = await startReceiver((_, res) => res.end())
    const now = () => server.clock.now().getTime()
    const seen = new SeenWebhooks({ now })
    /** What is due is sent by the clock of the server, which stands unless it is moved. */
    const sent = <Found>(what: string, find: () => Promise<Found | undefined>) =>
      until(what, async () => {
        server.clock.advance(100)
        return find()
      })
    const received = async (at: number, secret: string, memory?: SeenWebhooks) => {
      const { body, headers } = await sent('the delivery', async () => receiver.received[at])
      return verifyWebhook({ body, headers, secret, now, seen: memory })
    }
    try {
      const { secret, ...webhook } = await client.webhooks.create({ url: receiver.url, events: ['policy.created'] })
      const { id } = webhook
      expect(await client.webhooks.get(id)).toEqual(webhook)
      const listed = []
      for await (const one of client.webhooks.list({ limit: 1 })) listed.push(one)
      expect(listed).toEqual([webhook])

      const delivery = await client.webhooks.test(id)
      const event = await received(0, secret, seen)
      expect(event).toEqual({
        id: delivery.event_id,
        type: 'webhook.test',
        timestamp: delivery.event_at,
        sequence: null,
        data: webhook,
      })
      const rotated = await client.webhooks.rotateSecret(id, { graceSeconds: 3600 })
      expect(rotated.secret).not.toBe(secret)
      await sent('the first attempt', async () => {
        const { data } = await client.webhooks.deliveries(id, { status: 'delivered' }).page()
        return data.length === 1 ? data : undefined
      })
      expect(await client.webhooks.retry(id, delivery.id)).toMatchObject({ id: delivery.id, event_id: event.id })
      // The same event, signed with both secrets for the grace. It shows the webhook as it is by then.
      const again = { id: event.id, type: 'webhook.test', timestamp: event.timestamp }
      expect(await received(1, rotated.secret)).toMatchObject(again)
      expect(await received(1, secret)).toMatchObject(again)
      await expect(received(1, secret, seen)).rejects.toMatchObject({ code: 'replayed' })

      const changed = { url: receiver.url, events: ['policy.created', 'policy.deleted'] } as const
      expect(await client.webhooks.update(id, changed)).toMatchObject({ id, ...changed })
      server.clock.advance(1000)
      const since = policy.created_at
      expect(await client.webhooks.replay(id, { since })).toMatchObject({ webhook_id: id, since })
      expect(await received(2, rotated.secret)).toMatchObject({ type: 'policy.created', data: { id: policy.id } })
      const types = []
      for await (const { type } of client.webhooks.deliveries(id, { limit: 1 })) types.push(type)
      expect(types).toEqual(expect.arrayContaining(['webhook.test', 'policy.created']))

      expect(await client.webhooks.delete(id)).toBeUndefined()
      await expect(client.webhooks.get(id)).rejects.toMatchObject({ status: 404, code: 'not_found' })
    } finally {
      await receiver.close()
    }
  })

  it('tells that the server lives and is ready', async () => {
    expect(await client.health.livez()).toBe(true)
    expect(await client.health.readyz()).toBe(true)
  })

  it('guards actions, and settles them by how they end', async () => {
    const now = () => server.clock.now().getTime()
    const pay = (order: string, amount: number) => `${amount} for ${order}`
    expect(await client.guard(permitted, () => 'paid', { now })).toBe('paid')
    const refund = client.protect(pay, {
      agent_id: AGENT,
      action: 'payment.refund',
      resource: (order) => `order:${order}`,
      context: (_order, amount) => ({ amount }),
      now,
    })
    expect(await refund('8812', 7)).toBe('7 for 8812')
    await expect(refund('8812', 420)).rejects.toMatchObject({ name: 'DeniedError', reason: 'review_required' })
    const admission = await client.enforcement({ now }).admit(permitted)
    admission.begin()
    await admission.settle.reject('the bank is closed')
    expect(await client.flush()).toBe(0)
    const { data } = await client.decisions.list({ limit: 4 }).page()
    expect(data.map(({ status }) => status)).toEqual(['rejected', 'awaiting_review', 'confirmed', 'confirmed'])
  })

  it('verifies a guard', async () => {
    const now = () => server.clock.now().getTime()
    const canary = (action: string) => {
      let runs = 0
      const attempt = (given: CountersignClient) =>
        given.guard({ agent_id: 'agent:canary', action }, () => (runs += 1), { now })
      return { asked: { agent_id: 'agent:canary', action, resource: null }, attempt, runs: () => runs }
    }
    const canaries = { allowed: canary('canary.allow'), denied: canary('canary.deny'), review: canary('canary.review') }
    const { ok, checks } = await verifyGuard({ client, admin: client, ...canaries })
    expect([ok, checks.filter(({ outcome }) => outcome !== 'pass')]).toEqual([true, []])
  })

  it('waits out the rate limit, as Retry-After says', async () => {
    const limited = await runServer({ settings: { rateLimitPerSecond: 1 }, clock: new RunningClock() })
    const options = { baseUrl: limited.url, apiKey: limited.key, timeoutMs: 15_000 }
    const hasty = new Countersign({ ...options, maxRetries: 0 })
    const patient = new Countersign(options)
    try {
      await hasty.keys.self()
      await expect(hasty.keys.self()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 })
      expect(await patient.keys.self()).toMatchObject({ scopes: ['*'] })
    } finally {
      hasty.close()
      patient.close()
      await limited.stop()
    }
  })

  it('has been driven by every one of its methods', async () => {
    client.close()
    await expect(client.keys.self()).rejects.toBeInstanceOf(TypeError)
    expect([...calls].filter(([, spy]) => spy.mock.calls.length === 0).map(([name]) => name)).toEqual([])
    expect(calls.size).toBeGreaterThan(35)
  })
})

/** What a caller is told when a part of the server fails: nothing is permitted, and the audit log goes on without a gap. */

import { afterEach, describe, expect, it, vi } from 'vitest'
import { typeidIds } from '#server/adapters/typeid-ids'
import type { Ids } from '#server/ports/ids'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { CommitResult, Mutation } from '#server/ports/store/store'
import { type Answer, type RunningServer, runServer, TestClock } from '../running-server.js'
import { type Commit, FaultyStore } from './faulty-store.js'
import {
  ALLOWED,
  allowing,
  createPolicy,
  DENIED,
  decide,
  everyItem,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from './refunds.js'
import { routeCases } from './route-cases.js'
import { stored } from './stored.js'

const IN_THE_FEED: ReadonlySet<string> = new Set(['webhooks.test', 'webhooks.replay', 'webhooks.retry'])
const READS = [
  'decisions.get',
  'decisions.list',
  'policies.loadSet',
  'policies.list',
  'policies.listRevisions',
  'accounts.list',
  'accounts.get',
  'agents.get',
  'agents.list',
  'agents.listWritten',
  'agents.getMetadata',
  'idempotency.get',
  'audit.list',
] as const

let server: RunningServer
let faulty: FaultyStore
let asked = 0
afterEach(async () => {
  vi.useRealTimers()
  await server.stop()
})

async function run(options: Parameters<typeof runServer>[0] = {}): Promise<void> {
  faulty = new FaultyStore()
  asked = 0
  const clock = new TestClock()
  const made = typeidIds(clock)
  const ids: Ids = {
    ...made,
    next(prefix) {
      if (prefix === 'dec') asked++
      return made.next(prefix)
    },
  }
  const settings = { rateLimitPerSecond: 0, ...options.settings }
  server = await runServer({ clock, settings, parts: { openStore: faulty.open, ids, ...options.parts } })
  await createPolicy(server, REFUNDS)
}

/** Until this many requests were evaluated: what comes next for them is the store. */
async function evaluated(count: number): Promise<void> {
  while (asked < count) await new Promise((resolve) => setImmediate(resolve))
}

const ask = (body: object = ALLOWED, headers = {}) => server.call('POST', '/v1/decisions', { body, headers })

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({ status: 503, body: { code: 'store_unavailable', detail: 'Nothing was permitted.' } })
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(JSON.stringify(answer.body)).not.toMatch(/permit_token|disk|sqlite/i)
  // A permit; the ids of requests are in lower case.
  expect(JSON.stringify(answer.body)).not.toMatch(/eyJ/)
}

async function expectOneLogWithoutGap(): Promise<void> {
  const entries = await everyItem(server, '/v1/audit')
  expect(new Set(entries.map(({ log }) => log)).size).toBe(1)
  expect(entries.map(({ index }) => index)).toEqual(entries.map((_, i) => entries.length - 1 - i))
}

describe('a commit that fails and leaves nothing', () => {
  const fails = async () => {
    throw new StoreUnavailableError('The disk is full.')
  }

  it('is a 503; the next request is answered, and the log goes on', async () => {
    await run()
    const before = await stored(server)
    faulty.commit = fails
    for (const request of [ALLOWED, REVIEWED, DENIED]) expectUnavailable(await ask(request))
    expect(await stored(server)).toEqual(before)
    faulty.commit = null
    expect((await ask()).body).toMatchObject({ effect: 'allow', permit_token: expect.any(String) })
    await expectOneLogWithoutGap()
    expect(server.logged).toContainEqual(expect.objectContaining({ level: 'error', message: 'store unavailable' }))
  })

  it('is a 503 for every change, and changes nothing, now or after', async () => {
    await run()
    await createPolicy(server, allowing('mail.*'))
    const cases = routeCases(server)
    const needStore = server.started.composed.routes.filter(
      // What these write goes past `commit`: webhooks.test.ts has the faults of that, replay.test.ts of their records.
      ({ name, problems }) => problems.includes('store_unavailable') && !IN_THE_FEED.has(name),
    )
    for (const route of needStore) {
      const { path, body } = await (cases[route.name] as (typeof cases)[string]).request()
      const before = await stored(server)
      faulty.commit = fails
      const answer = await server.call(route.method, path, { body })
      faulty.commit = null
      // A simulation needs the store too, for balances that it only reads.
      if (route.method !== 'GET' && route.name !== 'policies.simulate') {
        expectUnavailable(answer)
        expect(await stored(server), route.name).toEqual(before)
        await vi.waitFor(async () =>
          expect((await server.call(route.method, path, { body })).status, route.name).toBe(route.answer.status),
        )
      } else expect(answer.status, route.name).toBe(200)
    }
    await expectOneLogWithoutGap()
  })

  it('takes no review slot', async () => {
    await run({ settings: { maxOpenReviews: 1 } })
    faulty.commit = fails
    expectUnavailable(await ask(REVIEWED))
    faulty.commit = null
    await vi.waitFor(async () => expect((await ask(REVIEWED)).body.effect).toBe('review'))
  })

  it('keeps the slot of a review while the store cannot tell whether it was written', async () => {
    await run({ settings: { maxOpenReviews: 1 } })
    faulty.faults.set('decisions.get', new StoreUnavailableError('The disk is away.'))
    faulty.commit = fails
    expectUnavailable(await ask(REVIEWED))
    faulty.commit = null
    faulty.faults.clear()
    expect((await ask(REVIEWED)).body).toMatchObject({ effect: 'deny', reason_code: 'too_many_reviews' })
  })
})

describe('a commit whose outcome is not known', () => {
  /** It becomes durable and the caller is told otherwise, as by a disk that answers too late. */
  const writesAndFails = async (records: readonly Mutation[], commit: Commit): Promise<CommitResult> => {
    await commit(records)
    throw new StoreUnavailableError('The disk did not answer.')
  }

  it('is a 503 without a permit; the same idempotency key finds what became of it', async () => {
    await run()
    const headers = { 'Idempotency-Key': 'unknown' }
    faulty.commit = writesAndFails
    expectUnavailable(await ask(ALLOWED, headers))
    faulty.commit = null
    const again = await ask(ALLOWED, headers)
    expect(again).toMatchObject({ status: 200, body: { effect: 'allow', permit_token: expect.any(String) } })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await everyItem(server, '/v1/decisions')).toHaveLength(1)
    expect((await ask()).status).toBe(200)
    await expectOneLogWithoutGap()
  })

  it('leaves memory where the store is: a policy, a suspension and a revocation count although nobody was told', async () => {
    await run()
    const { id, key } = await makeKey(server, ['decisions:write'])
    const document = allowing('unknown.outcome')
    const lost: (() => Promise<Answer>)[] = [
      () => server.call('POST', '/v1/policies', { body: document }),
      () => server.call('POST', '/v1/agents/agent:x/suspend'),
      () => server.call('DELETE', `/v1/keys/${id}`),
    ]
    for (const change of lost) {
      faulty.commit = writesAndFails
      expectUnavailable(await change())
      faulty.commit = null
      // Until the store is read again no further change is made upon the old state.
      await vi.waitFor(async () =>
        expect((await server.call('PUT', '/v1/agents/agent:nobody', { body: {} })).status).toBe(404),
      )
    }
    expect(await decide(server, { agent_id: 'agent:y', action: 'unknown.outcome' })).toMatchObject({
      effect: 'allow',
      policy_set: 2,
    })
    expect(await decide(server, { agent_id: 'agent:x', action: 'unknown.outcome' })).toMatchObject({
      reason_code: 'agent_suspended',
    })
    expect((await server.call('GET', '/v1/keys/self', { key })).status).toBe(401)
    expect((await server.call('POST', '/v1/policies', { body: document })).body.code).toBe('policy_name_taken')
    expect((await server.call('DELETE', `/v1/keys/${id}`)).status).toBe(204)
    await expectOneLogWithoutGap()
  })

  it('counts the review that became durable', async () => {
    await run({ settings: { maxOpenReviews: 1 } })
    faulty.commit = writesAndFails
    expectUnavailable(await ask(REVIEWED))
    faulty.commit = null
    expect((await ask(REVIEWED)).body).toMatchObject({ effect: 'deny', reason_code: 'too_many_reviews' })
  })
})

describe('a commit that never ends', () => {
  it('lets no answer out, refuses at the deadline what waits, and what was never sent is never written', async () => {
    let monotonicMs = 0
    await run({ parts: { monotonicMs: () => monotonicMs } })
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const sent: string[] = []
    const arrived = new Promise<void>((resolve) => {
      faulty.commit = async (records, commit) => {
        sent.push(...records.map(({ entry }) => entry?.subject ?? ''))
        resolve()
        await released
        return commit(records)
      }
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const before = await stored(server)
    let answered = 0
    const first = ask().finally(() => answered++)
    await arrived
    const behind = Array.from({ length: 10 }, () => ask().finally(() => answered++))
    await evaluated(11)
    await vi.advanceTimersByTimeAsync(4999)
    expect(answered).toBe(0)
    monotonicMs = 5000
    await vi.advanceTimersByTimeAsync(1)
    for (const answer of [await first, ...(await Promise.all(behind))]) expectUnavailable(answer)
    expect(await stored(server)).toEqual(before)
    vi.useRealTimers()

    faulty.commit = null
    release()
    const { id } = await decide(server, ALLOWED)
    expect(sent).toHaveLength(1)
    expect((await everyItem(server, '/v1/decisions')).map((decision) => decision.id)).toEqual([id, sent[0]])
    await expectOneLogWithoutGap()
  })

  it('holds a second call with the same idempotency key back, and both get one decision', async () => {
    await run()
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const arrived = new Promise<void>((resolve) => {
      faulty.commit = async (records, commit) => {
        resolve()
        await released
        return commit(records)
      }
    })
    const headers = { 'Idempotency-Key': 'held' }
    const first = ask(ALLOWED, headers)
    await arrived
    const second = ask(ALLOWED, headers)
    // A call that comes to the door after it and is answered was behind it.
    await ask({}, headers)
    release()
    expect((await second).body).toEqual((await first).body)
    expect(await everyItem(server, '/v1/decisions')).toHaveLength(1)
  })
})

describe('a conflict in the middle of a group', () => {
  it('fails its own record alone', async () => {
    await run()
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let commits = 0
    let conflicts = 0
    const arrived = new Promise<void>((resolve) => {
      faulty.commit = async (records, commit) => {
        if (commits++ === 0) {
          resolve()
          await released
        }
        if (records.length < 3 || conflicts++ > 0) return commit(records)
        const { written } = await commit(records.slice(0, 2))
        return { written, conflict: 'version' }
      }
    })
    const first = ask()
    await arrived
    const group = Array.from({ length: 20 }, () => ask())
    await evaluated(21)
    release()
    const answers = await Promise.all([first, ...group])
    expect(conflicts).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toMatchObject([{ status: expect.any(Number), body: { code: expect.any(String) } }])
    expect(JSON.stringify(refused)).not.toContain('permit_token')
    const answered = answers.flatMap(({ status, body }) => (status === 200 ? [body.id] : []))
    expect((await everyItem(server, '/v1/decisions')).map(({ id }) => id).sort()).toEqual(answered.sort())
    for (const { body } of answers.filter(({ status }) => status === 200)) {
      const [entry] = await everyItem(server, `/v1/audit?decision_id=${body.id}`)
      const claims = JSON.parse(Buffer.from(body.permit_token.split('.')[1], 'base64url').toString())
      expect(claims.audit).toEqual({ log: entry.log, index: entry.index, leaf: entry.leaf })
    }
    await expectOneLogWithoutGap()
  })
})

describe('a read that fails', () => {
  it('is a 503 at every route that needs it, and no route is worse off', async () => {
    await run()
    await createPolicy(server, allowing('mail.*'))
    const cases = routeCases(server)
    const told = new Set<string>()
    for (const route of server.started.composed.routes) {
      const { path, body } = await (cases[route.name] as (typeof cases)[string]).request()
      const before = await stored(server)
      for (const read of READS) faulty.faults.set(read, new StoreUnavailableError('The disk does not answer.'))
      const headers = route.replay === undefined ? {} : { 'Idempotency-Key': `read-${route.name}` }
      const answer = await server.call(route.method, path, { body, headers })
      faulty.faults.clear()
      if (answer.status === 503) {
        expectUnavailable(answer)
        expect(await stored(server), route.name).toEqual(before)
        told.add(route.name)
      } else expect(answer.status, route.name).toBe(route.answer.status)
    }
    // Its write finds out whether the call was made before.
    expect(told).not.toContain('decisions.decide')
    for (const name of [
      'decisions.list',
      'decisions.get',
      'decisions.explanation',
      'policies.list',
      'budgets.list',
      'policies.budget',
      'policies.budget_history',
      'agents.get',
      'audit.list',
      'permits.redeem',
      'keys.create',
    ])
      expect(told).toContain(name)
  })

  it('is a 500 that shows nothing of the inside when the fault is not the store being away', async () => {
    await run()
    faulty.faults.set('decisions.get', new Error('SELECT secret FROM decisions'))
    const answer = await server.call('GET', '/v1/decisions/dec_01kagx3v5ne8sr6w1y6gqk4t2h', {
      headers: { 'X-Request-Id': 'to-be-quoted' },
    })
    expect(answer.body).toEqual({
      type: '/docs/errors#internal_error',
      title: 'The server failed.',
      status: 500,
      detail: 'Nothing was permitted. Report `request_id` to the operator.',
      code: 'internal_error',
      request_id: 'to-be-quoted',
    })
    expect(server.logged).toContainEqual({
      level: 'error',
      message: 'request failed',
      fields: {
        err: expect.objectContaining({ message: expect.stringContaining('SELECT') }),
        request_id: 'to-be-quoted',
      },
    })
  })
})

describe('a fault while evaluating', () => {
  const breaks = () => {
    throw new Error('a fault of ours')
  }

  it('is a deny that is recorded, audited and logged', async () => {
    await run({ parts: { evaluate: breaks } })
    const answer = await ask(ALLOWED, { 'X-Request-Id': 'the-broken-one' })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        effect: 'deny',
        status: 'denied',
        reason_code: 'evaluation_error',
        policy_id: 'pol_default',
        policy_revision: null,
        rule: null,
        shadow: [],
        advice: { retry: 'never' },
      },
    })
    expect(answer.body).not.toHaveProperty('permit_token')
    expect(await succeed(server.call('GET', `/v1/decisions/${answer.body.id}`))).toMatchObject(answer.body)
    expect(await everyItem(server, `/v1/audit?decision_id=${answer.body.id}`)).toMatchObject([
      { type: 'decision.created', data: { effect: 'deny', reason_code: 'evaluation_error' } },
    ])
    expect(server.logged).toContainEqual({
      level: 'error',
      message: 'evaluation failed; the request is denied',
      fields: { err: expect.objectContaining({ message: 'a fault of ours' }), request_id: 'the-broken-one' },
    })
    expect(await succeed(server.call('GET', `/v1/decisions/${answer.body.id}/explanation`))).toMatchObject({
      effect: 'deny',
      summary: `Denied: ${answer.body.reason}`,
    })
  })

  it('is a deny in a simulation too', async () => {
    await run({ parts: { evaluate: breaks } })
    expect(await succeed(server.call('POST', '/v1/simulate', { body: { request: ALLOWED } }))).toMatchObject({
      effect: 'deny',
      reason_code: 'evaluation_error',
      policy_id: 'pol_default',
      explanation: { effect: 'deny' },
    })
  })
})

describe('a signature that fails', () => {
  it('answers no allow, and the decision stays without a permit', async () => {
    // No verifier takes a permit that lives over an hour, so none is signed.
    await run({ settings: { decisionTtlSeconds: 7200 } })
    const answer = await ask()
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } })
    expect(JSON.stringify(answer.body)).not.toMatch(/allow|authorized|permit_token/)
    expect((await ask(DENIED)).body.effect).toBe('deny')
    await expectOneLogWithoutGap()
  })
})

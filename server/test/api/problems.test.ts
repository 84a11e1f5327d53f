/** Every code of the catalogue, as it comes over HTTP: a code that nothing here makes happen fails the suite. */
import { ERRORS, type ErrorCode } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { BudgetBusyError } from '#server/ports/store/ledger'
import type { Store } from '#server/ports/store/store'
import { intruderOf } from '../intruder.js'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import type { CallOf } from '../store-suite/index.js'
import { openStoreWith } from '../store-with.js'
import { sendRaw } from './browser-session.js'
import { FaultyStore } from './faulty-store.js'
import { ALLOWED, allowing, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'

let server: RunningServer
const faulty = new FaultyStore()
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore: faulty.open } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const post = (path: string, body?: unknown, options: object = {}) => server.call('POST', path, { body, ...options })
const permit = async (agent_id = ALLOWED.agent_id) => ({
  permit_token: (await decide(server, { ...ALLOWED, agent_id })).permit_token,
})

async function failing(
  error: Error,
  member: CallOf<Store> = 'audit.list',
  call = () => server.call('GET', '/v1/audit'),
): Promise<Answer> {
  faulty.faults.set(member, error)
  try {
    return await call()
  } finally {
    faulty.faults.clear()
  }
}

/** Makes each code happen. */
const MAKE: { readonly [code in ErrorCode]: () => Promise<Answer> } = {
  malformed_json: () => post('/v1/decisions', '{'),
  validation_failed: () => post('/v1/decisions', {}),
  invalid_cursor: () => server.call('GET', '/v1/keys?cursor=x.y'),
  permit_invalid: () => post('/v1/permits/redeem', { permit_token: 'a.b.c' }),
  unauthorized: () => server.call('GET', '/v1/keys/self', { key: null }),
  insufficient_scope: async () => post('/v1/decisions', ALLOWED, { key: (await makeKey(server, ['audit:read'])).key }),
  cross_origin: () => post('/dashboard/session', { key: server.key }, { headers: { origin: 'https://evil.example' } }),
  insecure_origin: async () => {
    const headers = { Origin: 'http://authz.example', Host: 'authz.example' }
    const { status, headers: got, body } = await sendRaw(server, 'POST', '/dashboard/session', { body: {}, headers })
    return { status, headers: new Headers(got as Record<string, string>), body }
  },
  agent_not_allowed: async () =>
    post('/v1/decisions', ALLOWED, { key: (await makeKey(server, ['decisions:write'], { agents: ['x'] })).key }),
  key_too_wide: async () =>
    post('/v1/keys', { name: 'wide', scopes: ['*'] }, { key: (await makeKey(server, ['keys:write'])).key }),
  not_own_key: async () => {
    const [{ key }, other] = [await makeKey(server, ['keys:write']), await makeKey(server, ['keys:write'])]
    return post(`/v1/keys/${other.id}/rotate`, {}, { key })
  },
  log_rewritten: async () => {
    const checkpoints = () => server.call('GET', '/v1/audit/checkpoints')
    await until('a checkpoint', async () => (await checkpoints()).body.root?.size)
    await intruderOf(server.dataDir).removeReader()
    return checkpoints()
  },
  not_found: () => server.call('GET', '/v1/policies/x'),
  method_not_allowed: () => server.call('PATCH', '/v1/policies'),
  policy_name_taken: () => post('/v1/policies', REFUNDS),
  agent_exists: async () => {
    await succeed(post('/v1/agents', { id: 'agent:there' }))
    return post('/v1/agents', { id: 'agent:there' })
  },
  agent_suspended: async () => {
    const body = await permit('agent:support-stopped')
    await succeed(post('/v1/agents/agent:support-stopped/suspend'))
    return post('/v1/permits/redeem', body)
  },
  invalid_transition: async () => {
    const { id } = await decide(server, DENIED)
    return post(`/v1/decisions/${id}/confirm`)
  },
  self_approval: async () => {
    const { key } = await makeKey(server, ['decisions:write', 'reviews:write'])
    const { id } = await decide(server, REVIEWED, key)
    return post(`/v1/decisions/${id}/approve`, {}, { key })
  },
  not_asker: async () => {
    const { key } = await makeKey(server, ['decisions:write'])
    const { id } = await decide(server, REVIEWED, key)
    return post(`/v1/decisions/${id}/claim`)
  },
  permit_redeemed: async () => {
    const { key } = await makeKey(server, ['decisions:write'])
    const { id, permit_token } = await decide(server, ALLOWED, key)
    await succeed(post('/v1/permits/redeem', { permit_token }))
    return post(`/v1/decisions/${id}/reject`, {}, { key })
  },
  policy_denies: async () => {
    const trial = await createPolicy(server, { name: 'trial', rules: [{ action: 'trial.run', effect: 'review' }] })
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'trial.run' })
    await succeed(server.call('DELETE', `/v1/policies/${trial.id}`))
    return post(`/v1/decisions/${id}/approve`)
  },
  budget_exceeded: async () => {
    const action = 'none.left'
    const budget = { limit: 1, unit: 'calls', period: 'total', amount: 1 }
    const spends = { action, effect: 'allow', conditions: { agent_id: { $eq: 'agent:first' } } }
    await createPolicy(server, { name: 'none left', rules: [spends, { action, effect: 'review' }], budget })
    await decide(server, { agent_id: 'agent:first', action })
    const { id } = await decide(server, { agent_id: 'agent:a', action })
    return post(`/v1/decisions/${id}/approve`)
  },
  already_claimed: async () => {
    const headers = { 'Idempotency-Key': 'problems' }
    await succeed(post('/v1/decisions', { ...ALLOWED, holder: 'one' }, { headers }))
    return post('/v1/decisions', { ...ALLOWED, holder: 'two' }, { headers })
  },
  permit_already_used: async () => {
    const body = await permit()
    await succeed(post('/v1/permits/redeem', body))
    return post('/v1/permits/redeem', body)
  },
  last_admin_key: async () =>
    server.call('DELETE', `/v1/keys/${(await succeed(server.call('GET', '/v1/keys/self'))).id}`),
  webhook_disabled: async () => {
    const { id } = await succeed(post('/v1/webhooks', { url: 'https://receiver.invalid/hook', enabled: false }))
    return post(`/v1/webhooks/${id}/test`)
  },
  limit_reached: async () => {
    faulty.commit = async () => ({ written: 0, conflict: 'too_large' })
    try {
      return await post('/v1/keys', { name: 'one more', scopes: ['audit:read'] })
    } finally {
      faulty.commit = null
    }
  },
  revision_mismatch: async () => {
    const policy = await createPolicy(server, allowing('a.b'))
    return server.call('PUT', `/v1/policies/${policy.id}`, { body: policy, headers: { 'If-Match': '"9"' } })
  },
  body_too_large: () => post('/v1/decisions', ' '.repeat(64 * 1024 + 1)),
  unsupported_media_type: () => post('/v1/decisions', '{}', { headers: { 'Content-Type': 'text/plain' } }),
  idempotency_key_reused: async () => {
    const headers = { 'Idempotency-Key': 'reused' }
    await succeed(post('/v1/decisions', ALLOWED, { headers }))
    return post('/v1/decisions', { ...ALLOWED, action: 'payment.other' }, { headers })
  },
  rate_limited: async () => {
    const limited = await runServer({ settings: { rateLimitPerSecond: 1 } })
    try {
      const answers = await Promise.all([1, 2, 3].map(() => limited.call('GET', '/v1/keys/self')))
      return answers.find(({ status }) => status === 429) as Answer
    } finally {
      await limited.stop()
    }
  },
  internal_error: () => failing(new Error('a fault of ours')),
  store_unavailable: () => failing(new StoreUnavailableError('The disk is away.')),
  budget_busy: () =>
    failing(new BudgetBusyError('Too many at once.'), 'idempotency.get', () =>
      post('/v1/decisions', REVIEWED, { headers: { 'Idempotency-Key': 'busy' } }),
    ),
  replica_stale: async () => {
    let isAway = false
    const revision = async () => {
      if (isAway) throw new StoreUnavailableError('The network is away.')
      return { policies: '', agents: '', keys: '', signing_keys: '' }
    }
    const replicas = {
      reviewSlots: {
        take: async () => [],
        release: async () => {},
        clear: async () => {},
        forgetOver: async () => {},
      },
      revision,
      listen: () => async () => {},
      join: async () => [],
      publishSigningKeys: async () => {},
      loadSigningKeys: async () => [],
      markKeysKnown: async () => {},
      markKeySetRead: async () => {},
      wasKeySetRead: async () => false,
    }
    const replica = await runServer({
      parts: { openStore: (dataDir) => openStoreWith(dataDir, () => ({ replicas })) },
    })
    const now = Date.now()
    isAway = true
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 6000)
    try {
      return await replica.call('POST', '/v1/decisions', { body: ALLOWED })
    } finally {
      clock.mockRestore()
      await replica.stop()
    }
  },
}

describe('every code of the catalogue', () => {
  it('is made to happen here', () => {
    expect(Object.keys(MAKE).sort()).toEqual(Object.keys(ERRORS).sort())
  })

  it.each(Object.keys(ERRORS) as ErrorCode[])('%s comes as a problem of its status, whole', async (code) => {
    const { status, headers, body } = await MAKE[code]()
    const { status: wanted, title } = ERRORS[code]
    expect(status).toBe(wanted)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(headers.get('x-request-id')).toBe(body.request_id)
    expect(body).toEqual({
      type: `/docs/errors#${code}`,
      title,
      status: wanted,
      detail: expect.stringMatching(/^\S.*[.!?]$/s),
      code,
      request_id: expect.stringMatching(/^req_/),
      ...(code === 'validation_failed' && { errors: expect.any(Array) }),
      ...(code === 'invalid_transition' && { current_status: expect.any(String) }),
    })
    expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
    expect(headers.get('retry-after') !== null).toBe(status === 429 || status === 503)
  })
})

/** What earlier failures must not leave behind. */

import { afterEach, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { openTestStore } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, REFUNDS, REVIEWED } from './refunds.js'

let server: RunningServer
afterEach(() => server.stop())

/** A real store with a commit and a ping that the test can make fail or count. */
async function runOnFaultyStore(maxOpenReviews = 100) {
  const fault = { isAway: false, pings: 0 }
  server = await runServer({
    settings: { maxOpenReviews, rateLimitPerSecond: 0 },
    parts: {
      async openStore(dataDir) {
        const store = await openTestStore(dataDir)
        const commit: Store['commit'] = (records) =>
          fault.isAway ? Promise.reject(new Error('away')) : store.commit(records)
        const ping = () => {
          fault.pings += 1
          return store.ping()
        }
        return new Proxy(store, {
          get: (target, name) => {
            if (name === 'commit') return commit
            if (name === 'ping') return ping
            const value = Reflect.get(target, name)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      },
    },
  })
  return fault
}

describe('the kill switch', () => {
  it('is not lifted by a late retry of a resume that had nothing to do', async () => {
    await runOnFaultyStore()
    const headers = { 'Idempotency-Key': 'resume-1' }
    const resume = () => server.call('POST', '/v1/agents/agent:a/resume', { headers })
    expect(await resume()).toMatchObject({ status: 200, body: { suspended: null } })
    await server.call('POST', '/v1/agents/agent:a/suspend', { body: { reason: 'odd' } })
    const retry = await resume()
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
    expect(retry.body.suspended).toMatchObject({ reason: 'odd' })
    const asked = { agent_id: 'agent:a', action: 'payment.refund' }
    const decision = await server.call('POST', '/v1/decisions', { body: asked })
    expect(decision.body.reason_code).toBe('agent_suspended')
  })

  it('stays as it was thrown first, and each throw is recorded', async () => {
    await runOnFaultyStore()
    const suspend = (reason: string) => server.call('POST', '/v1/agents/agent:a/suspend', { body: { reason } })
    const first = await suspend('first')
    expect((await suspend('second')).body).toEqual(first.body)
    const { body } = await server.call('GET', '/v1/audit?agent_id=agent:a')
    const reasons = body.data.map(({ data }: { data: { reason: string } }) => data.reason)
    expect(reasons).toEqual(['second', 'first'])
  })
})

describe('while the store is away', () => {
  it('no review takes a slot that it never had', async () => {
    const fault = await runOnFaultyStore(2)
    await createPolicy(server, REFUNDS)
    const ask = () => server.call('POST', '/v1/decisions', { body: REVIEWED })
    fault.isAway = true
    const refused = await Promise.all(Array.from({ length: 5 }, ask))
    expect(refused.filter(({ status }) => status === 503).length).toBeGreaterThan(0)
    fault.isAway = false
    const effects = [(await ask()).body, (await ask()).body, (await ask()).body].map(({ effect }) => effect)
    expect(effects).toEqual(['review', 'review', 'deny'])
  })
})

describe('/readyz', () => {
  it('looks at the store once for all who ask at the same time', async () => {
    const fault = await runOnFaultyStore()
    const answers = await Promise.all(Array.from({ length: 50 }, () => server.call('GET', '/readyz', { key: null })))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(fault.pings).toBeLessThanOrEqual(2)
  })
})

/** Lint of a large policy takes long: what stops an agent or a key does not wait for it. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LongWork, type Pause } from '#server/http/long-work'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, makeKey, succeed } from './refunds.js'

/** Long work that pauses until it is let go. */
class HeldWork extends LongWork {
  held: (() => void)[] = []
  isHeld = false

  override pauses(): Pause {
    return async () => {
      if (this.isHeld) await new Promise<void>((resolve) => this.held.push(resolve))
    }
  }
  letGo(): void {
    this.isHeld = false
    for (const resolve of this.held.splice(0)) resolve()
  }
}

let work: HeldWork
let server: RunningServer
beforeEach(async () => {
  work = new HeldWork()
  server = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { longWork: work } })
})
afterEach(async () => {
  work.letGo()
  await server.stop()
})

/** Sends a write of a policy, and resolves when its lint has paused. */
async function writeHeld(
  method: string,
  path: string,
  body: object,
  key?: string,
): Promise<{ readonly answer: Promise<Answer> }> {
  work.isHeld = true
  const answer = server.call(method, path, { body, ...(key !== undefined && { key }) })
  await until('lint to pause', () => work.held.length > 0 || undefined)
  return { answer }
}

const BUDGET = { limit: 5000, unit: 'EUR', period: 'monthly' }
const PAY = [{ action: 'pay.create', effect: 'allow' }]

it('an agent is suspended and a key revoked while policies are linted', async () => {
  await succeed(server.call('POST', '/v1/agents', { body: { id: 'agent:desk' } }))
  const stored = await createPolicy(server, allowing('a.b'))
  const { id, key } = await makeKey(server, ['decisions:write'])
  const created = await writeHeld('POST', '/v1/policies', allowing('a.c'))
  const replaced = server.call('PUT', `/v1/policies/${stored.id}`, { body: allowing('a.b') })
  await succeed(server.call('POST', '/v1/agents/agent:desk/suspend', { body: {} }))
  await succeed(server.call('DELETE', `/v1/keys/${id}`))
  expect((await server.call('GET', '/v1/keys/self', { key })).status).toBe(401)
  work.letGo()
  expect((await created.answer).status).toBe(201)
  expect((await replaced).status).toBe(200)
})

it('the warnings are of the policies beside which the document is stored', async () => {
  const below = await createPolicy(server, { name: 'counted', rules: PAY, budget: BUDGET })
  const above = { name: 'passing', rules: PAY, priority: 1 }
  const passing = await createPolicy(server, above)
  expect(passing.warnings).toMatchObject([{ code: 'allow_passes_budget' }])
  const replaced = await writeHeld('PUT', `/v1/policies/${passing.id}`, above)
  await server.call('DELETE', `/v1/policies/${below.id}`)
  work.letGo()
  expect(await succeed(replaced.answer)).toMatchObject({ revision: 2, warnings: [] })
})

it('a key that is revoked while its policy is linted does not write it', async () => {
  const { id, key } = await makeKey(server, ['policies:write'])
  const refused = await writeHeld('POST', '/v1/policies', allowing('a.b'), key)
  await succeed(server.call('DELETE', `/v1/keys/${id}`))
  work.letGo()
  expect((await refused.answer).status).toBe(401)
  expect((await server.call('GET', '/v1/policies')).body.data).toEqual([])
})

/** A store whose commit never ends: nothing is permitted, and every caller is told so in time. */
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, call } from './call.js'
import { endChildren } from './child.js'
import { startDriven } from './driven-server.js'
import { newDirectory, removeDirectories } from './shipped-server.js'

/** How long the server promises to make a caller wait for the store. */
const PROMISED_MS = 5000

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

describe('a commit that never ends', () => {
  it('lets no answer out: 503 within its bound, whatever was asked, and no second thoughts', async () => {
    const dataDir = newDirectory()
    const server = await startDriven({ dataDir })
    const rules = [{ action: '*', effect: 'allow' }]
    await server.call('POST', '/v1/policies', { body: { name: 'everything', rules } })
    const asked = { agent_id: 'agent:a', action: 'payment.refund', context: { marker: 'before' } }
    const { body: before } = await server.call('POST', '/v1/decisions', { body: asked })
    expect(before.permit_token).toBeDefined()

    await server.hangCommits()
    const started = performance.now()
    const answers: { readonly what: string; readonly answer: Answer; readonly ms: number }[] = []
    const ask = async (path: string, body: object, what = path) => {
      const headers = { 'Idempotency-Key': what }
      const answer = await call(server.url, 'POST', path, { key: server.key, body, headers })
      answers.push({ what, answer, ms: performance.now() - started })
    }
    const decisions = Array.from({ length: 20 }, (_, i) => ask('/v1/decisions', asked, `decision-${i}`))
    const others = [
      ask('/v1/policies', { name: 'another', rules }),
      ask('/v1/keys', { name: 'another', scopes: ['decisions:write'] }),
      ask('/v1/agents/agent:a/suspend', {}),
      ask('/v1/permits/redeem', { permit_token: before.permit_token }),
    ]
    const total = decisions.length + others.length
    await until(`${total} answers`, () => (answers.length === total ? true : undefined), 3 * PROMISED_MS)
    const slowest = Math.max(...answers.map(({ ms }) => ms))
    console.log(
      `503 after ${Math.round(slowest)} ms at the latest; promised ${PROMISED_MS} ms, allowed ${3 * PROMISED_MS}`,
    )
    for (const { what, answer } of answers) {
      expect({ what, status: answer.status, code: answer.body.code }).toEqual({
        what,
        status: 503,
        code: 'store_unavailable',
      })
      expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThanOrEqual(1)
      expect(JSON.stringify(answer.body)).not.toMatch(/permit_token|eyJ|cs_sk_/)
    }
    await Promise.all([...decisions, ...others])

    const signalled = performance.now()
    server.signal('SIGTERM')
    expect(await server.end(3 * PROMISED_MS)).toEqual({ code: 1, signal: null })
    console.log(`ended ${Math.round(performance.now() - signalled)} ms after SIGTERM`)
    const next = await startDriven({ dataDir })
    const { body: list } = await next.call('GET', '/v1/decisions')
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual([before.id])
  })
})

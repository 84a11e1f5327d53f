/** Processes that all resume the same approved decision: one of them runs it. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { Child, endChildren } from './child.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const CLAIMER = fileURLToPath(new URL('./claimer.mjs', import.meta.url))
/** Started at a time: hundreds of new processes at once only wait for each other. */
const AT_ONCE = 10

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

it(`one of ${stress.claiming_processes} processes runs an approved decision`, async () => {
  const server = await ShippedServer.start({ dataDir: newDirectory() })
  const rules = [{ action: 'pay.create', effect: 'review' }]
  const budget = { limit: 100, unit: 'EUR', period: 'total' }
  await server.call('POST', '/v1/policies', { body: { name: 'pay', rules, budget } })
  const request = { agent_id: 'agent:a', action: 'pay.create', context: { amount: 60 } }
  const { body } = await server.call('POST', '/v1/decisions', { body: request })
  expect((await server.call('POST', `/v1/decisions/${body.id}/approve`)).body.status).toBe('approved')

  const claimers: Child[] = []
  while (claimers.length < stress.claiming_processes) {
    const some = Array.from({ length: Math.min(AT_ONCE, stress.claiming_processes - claimers.length) }, () => {
      return new Child(process.execPath, [CLAIMER, server.url, server.key, body.id], { ipc: true })
    })
    await Promise.all(some.map((child) => once(child.process, 'message')))
    claimers.push(...some)
  }
  const answers = await Promise.all(
    claimers.map(async (child) => {
      const answered = once(child.process, 'message')
      child.process.send('go')
      return (await answered)[0]
    }),
  )
  expect(answers.filter(({ status, runs }) => status === 200 && runs)).toHaveLength(1)
  expect(answers.filter(({ code }) => code === 'already_claimed')).toHaveLength(stress.claiming_processes - 1)
  const entries = await server.call('GET', `/v1/audit?decision_id=${body.id}&type=decision.claimed`)
  expect(entries.body.data).toHaveLength(1)
  expect((await server.call('GET', '/v1/budgets')).body.data).toMatchObject([{ spent: 0, reserved: 60 }])
})

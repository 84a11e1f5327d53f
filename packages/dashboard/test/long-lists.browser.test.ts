/** Many decisions in the store: the document contains only the visible rows of a list, and each query uses an index. */
import { stress } from '@countersign/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPolicy, decide, REFUNDS } from '../../../server/test/api/refunds.js'
import { stage } from './support/browser.js'

const MOST_ROWS = 60
const AT_ONCE = 64

describe('a store with many decisions', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  beforeAll(async () => {
    await createPolicy(on.server, REFUNDS)
    const total = stress.dashboard_decisions
    let asked = 0
    const ask = async () => {
      for (let i = asked++; i < total; i = asked++)
        await decide(on.server, {
          agent_id: `agent:support-${i % 200}`,
          action: 'payment.refund',
          resource: `order:${i}`,
          context: { amount: 5_000 },
        })
    }
    await Promise.all(Array.from({ length: AT_ONCE }, ask))
  }, 1_800_000)

  const rowsInDocument = () => on.page.locator('tbody tr').count()
  const region = (name: string) => on.page.getByRole('region', { name })

  it.each([
    ['/decisions', 'Decisions', 'Decisions'],
    ['/agents', 'Agents', 'Agents'],
    ['/audit', 'Audit', 'Audit'],
  ])('%s has few rows in the document, however far one scrolls', async (path, title, name) => {
    await on.open(path, title)
    const list = region(name)
    await list.locator('tbody tr').nth(5).waitFor()
    const countOf = () => list.evaluate((frame) => frame.scrollHeight)
    let height = await countOf()
    for (let page = 0; page < 4; page++) {
      await list.evaluate((frame) => frame.scrollTo(0, frame.scrollHeight))
      if (page < (path === '/agents' ? 1 : 4)) await expect.poll(countOf).toBeGreaterThan(height)
      height = await countOf()
      expect(await rowsInDocument()).toBeLessThan(MOST_ROWS)
    }
    console.log(`${path}: ${await rowsInDocument()} rows in the document, the list is ${height} px high`)
    expect(await rowsInDocument()).toBeGreaterThan(5)
  })
})

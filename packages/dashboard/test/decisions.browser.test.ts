import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, DENIED, decide, REFUNDS, REVIEWED } from '../../../server/test/api/refunds.js'
import { stage } from './support/browser.js'

describe('the list of decisions', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  const rows = () => on.page.getByRole('table').getByRole('row')
  const actionLinks = () => on.page.getByRole('table').getByRole('link')
  const shown = () => on.page.getByText('Live', { exact: true })

  it('names the next step while nobody has asked', async () => {
    await on.open('/decisions', 'Decisions')
    await on.page.getByRole('link', { name: 'Request your first decision' }).waitFor()
  })

  it('shows a decision as it is made, and as it changes', async () => {
    await createPolicy(on.server, REFUNDS)
    await decide(on.server, DENIED)
    await on.open('/decisions', 'Decisions')
    await shown().waitFor()
    const made = await decide(on.server, ALLOWED)
    const row = rows().filter({ hasText: 'authorized' })
    await row.waitFor()
    expect(await row.count()).toBe(1)
    await on.server.call('POST', `/v1/decisions/${made.id}/confirm`, { body: {} })
    await rows().filter({ hasText: 'confirmed' }).waitFor()
    expect(await actionLinks().count()).toBe(2)
    await on.screenshot('decisions')
  })

  it('keeps still while it is paused, and says how much waits', async () => {
    await on.open('/decisions', 'Decisions')
    await shown().waitFor()
    const before = await actionLinks().count()
    await on.page.getByRole('button', { name: 'Pause' }).click()
    await decide(on.server, REVIEWED)
    await on.page.getByRole('button', { name: 'Resume (1 new)' }).waitFor()
    expect(await actionLinks().count()).toBe(before)
    await on.page.getByRole('button', { name: 'Resume' }).click()
    await expect.poll(() => actionLinks().count()).toBe(before + 1)
  })

  it('has its filters in the URL, for events too', async () => {
    await on.open('/decisions?effect=deny', 'Decisions')
    await shown().waitFor()
    await expect.poll(() => actionLinks().count()).toBe(1)
    await decide(on.server, ALLOWED)
    await decide(on.server, DENIED)
    await expect.poll(() => actionLinks().count()).toBe(2)
    await on.page.getByLabel('Agent').fill('agent:support-8')
    await on.page.getByLabel('Agent').press('Enter')
    await on.page.getByText('No decisions match the filters').waitFor()
    expect(new URL(on.page.url()).search).toBe('?effect=deny&agent_id=agent%3Asupport-8')
    await on.page.getByRole('button', { name: 'Clear filters' }).last().click()
    await expect.poll(() => actionLinks().count()).toBeGreaterThan(3)
    expect(new URL(on.page.url()).search).toBe('')
  })

  it('goes on after the window was in the background', async () => {
    await on.open('/decisions', 'Decisions')
    await shown().waitFor()
    const live = await decide(on.server, ALLOWED)
    await on.page.locator(`a[href="/decisions/${live.id}"]`).waitFor()
    const before = await actionLinks().count()
    await on.page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await on.page.getByText('Not connected').waitFor()
    await decide(on.server, ALLOWED)
    await on.server.call('POST', `/v1/decisions/${live.id}/confirm`, { body: {} })
    await on.page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: false })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await expect.poll(() => actionLinks().count()).toBe(before + 1)
    await rows().nth(2).getByText('confirmed').waitFor()
  })

  it('is downloaded as CSV, as the filters select', async () => {
    await on.open('/decisions?effect=deny', 'Decisions')
    await on.page.getByRole('button', { name: 'Export' }).click()
    const [download] = await Promise.all([
      on.page.waitForEvent('download'),
      on.page.getByRole('menuitem', { name: 'CSV' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    expect(lines[0]).toMatch(/^id,evaluated_at,/)
    expect(lines).toHaveLength(3)
    expect(lines.slice(1).every((line) => line.includes(',deny,denied,'))).toBe(true)
    await on.page.getByText('2 exported').waitFor()
    await on.page.getByRole('button', { name: 'Export', exact: true }).waitFor()
  })

  it('leads to a decision by its row', async () => {
    const made = await decide(on.server, ALLOWED)
    await on.open('/decisions', 'Decisions')
    await rows().nth(1).click()
    await on.page.waitForURL(`**/decisions/${made.id}`)
  })
})

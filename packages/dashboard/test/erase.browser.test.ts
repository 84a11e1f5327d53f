/** Erases the request of one decision, and all requests of an agent. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import {
  ALLOWED,
  createPolicy,
  DENIED,
  decide,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from '../../../server/test/api/refunds.js'
import { type Stage, stage } from './support/browser.js'

const MARKER = 'order:marker-8812'
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

/** Opens the confirmation and confirms it. */
async function erase(on: Stage): Promise<void> {
  await panel(on.page, 'Request').getByRole('button', { name: 'Erase the request' }).click()
  await on.page.getByRole('dialog').getByRole('button', { name: 'Erase', exact: true }).click()
  await panel(on.page, 'Request')
    .getByText(/^Erased on \d{4}-/)
    .waitFor()
}

describe('the request of a decision', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  let made: Promise<object> | null = null
  const decided = async (asked: { readonly agent_id: string }) => {
    made ??= createPolicy(on.server, REFUNDS)
    await made
    const { id } = await decide(on.server, { ...asked, resource: MARKER })
    return id as string
  }
  const open = async (id: string) => {
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    await on.page.getByText(MARKER).first().waitFor()
  }

  it('is erased after a question, and leaves nothing of it on the pages', async () => {
    const id = await decided(ALLOWED)
    await open(id)
    await panel(on.page, 'Request').getByRole('button', { name: 'Erase the request' }).click()
    const dialog = on.page.getByRole('dialog', { name: 'Erase the request of this decision?' })
    await dialog.getByText('This cannot be undone.').waitFor()
    await on.look('erase-request')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect((await succeed(on.server.call('GET', `/v1/decisions/${id}`))).resource).toBe(MARKER)
    await erase(on)
    expect((await succeed(on.server.call('GET', `/v1/decisions/${id}`))).resource).toBeNull()
    expect(await on.page.content()).not.toContain(MARKER)
    await panel(on.page, 'Explanation').getByText('The explanation was erased together with the request.').waitFor()
    await panel(on.page, 'Permit claims').getByText('no more permits are issued').waitFor()
    for (const name of ['Erase the request', 'Copy as curl'])
      expect(await on.page.getByRole('button', { name }).count()).toBe(0)
    expect(await on.page.getByRole('link', { name: 'Open in the simulator' }).count()).toBe(0)
    await on.look('decision-erased')
    const audit = panel(on.page, 'Audit position')
    await audit.getByText('request.erased').waitFor()
    await audit.getByRole('button', { name: 'Verify in this browser' }).click()
    await audit.getByText('Proved: 2 entries in the audit log').waitFor()
    await on.page.goto('/decisions')
    await on.page.getByRole('region', { name: 'Decisions' }).getByRole('link').first().waitFor()
    expect(await on.page.content()).not.toContain(MARKER)
  })

  it('is not there to be drafted or simulated from', async () => {
    const id = await decided(DENIED)
    await open(id)
    const link = on.page.getByRole('link', { name: 'Draft a rule that would have allowed this' })
    await expect.poll(() => link.getAttribute('href')).toMatch(/^\/policies\/pol_/)
    const draft = (await link.getAttribute('href')) as string
    await erase(on)
    expect(await link.count()).toBe(0)
    for (const path of [draft, `/policies/new?for=${id}`]) {
      await on.page.goto(path)
      await on.page.getByText('no rule can be drafted for it').waitFor()
    }
    await on.page.goto(`/simulator?for=${id}`)
    await on.page.getByText('was erased. Only its agent and action are known.').waitFor()
  })

  it('that waits for a review can only be declined, and then waits for nobody', async () => {
    const asker = await makeKey(on.server, ['decisions:write'])
    const ids = await Promise.all(
      [1, 2].map(async () => {
        await decided(REVIEWED)
        return (await decide(on.server, REVIEWED, asker.key)).id as string
      }),
    )
    for (const id of ids) await succeed(on.server.call('DELETE', `/v1/audit/requests/${id}`))
    await on.open('/reviews?agent_id=agent%3Asupport-7', 'Reviews')
    const row = on.page.locator(`[data-review="${ids[0]}"]`)
    const card = on.page.getByRole('article').filter({ has: row })
    await card.getByText('It can no longer be approved. Decline it.').waitFor()
    expect(await card.getByRole('listitem').count()).toBe(1)
    expect(await row.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await row.focus()
    await on.page.keyboard.press('a')
    await on.page.keyboard.press('d')
    expect(await row.getByRole('form', { name: /^Approve/ }).count()).toBe(0)
    await on.screenshot('review-erased')
    await row.getByRole('button', { name: 'Decline', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    expect((await succeed(on.server.call('GET', `/v1/decisions/${ids[0]}`))).status).toBe('declined')
  })

  it('leaves a permit that was handed out before, which is not compared with it', async () => {
    await decided(ALLOWED)
    const { id, permit_token } = await decide(on.server, ALLOWED)
    await succeed(on.server.call('DELETE', `/v1/audit/requests/${id}`))
    await on.open('/audit', 'Audit')
    await on.page.getByRole('button', { name: 'Check a permit' }).click()
    await on.page.getByRole('textbox', { name: 'Permit' }).fill(permit_token)
    await on.page.getByRole('button', { name: 'Check', exact: true }).click()
    await on.page.getByText('Genuine and valid').waitFor()
    await on.page
      .getByText('except for the resource and request hash, which cannot be compared because the request was erased')
      .waitFor()
  })

  it('is not offered to be erased to a key without audit:write', async () => {
    const id = await decided(ALLOWED)
    const { key } = await makeKey(on.server, ['decisions:read', 'agents:read', 'audit:read'])
    const page = await on.another(key)
    await page.goto(`/decisions/${id}`)
    await page.getByText(MARKER).first().waitFor()
    expect(await page.getByRole('button', { name: /Erase/ }).count()).toBe(0)
    await page.goto('/agents/agent%3Asupport-7')
    await panel(page, 'Registration').waitFor()
    expect(await page.getByRole('button', { name: /Erase/ }).count()).toBe(0)
    await page.context().close()
  })
})

describe('all requests of an agent', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })

  it('are erased when its id is typed, and those of no other agent', async () => {
    await createPolicy(on.server, REFUNDS)
    for (let count = 0; count < 3; count += 1) await decide(on.server, { ...ALLOWED, resource: MARKER })
    const other = await decide(on.server, { ...ALLOWED, agent_id: 'agent:support-9', resource: 'order:9' })
    await on.open('/agents/agent%3Asupport-7', 'agent:support-7')
    await panel(on.page, 'Activity').getByText(MARKER).first().waitFor()
    await on.page.getByRole('button', { name: 'Erase all requests of this agent' }).click()
    const dialog = on.page.getByRole('dialog', { name: 'Erase all requests of agent:support-7?' })
    const deed = dialog.getByRole('button', { name: 'Erase', exact: true })
    await on.look('erase-requests')
    await dialog.getByRole('textbox').fill('agent:support-9')
    expect(await deed.isDisabled()).toBe(true)
    await on.page.keyboard.press('Enter')
    await dialog.getByRole('textbox').fill('agent:support-7')
    await on.page.keyboard.press('Enter')
    await on.page.getByRole('status').getByText('3 requests were erased.').waitFor()
    expect(await on.page.content()).not.toContain(MARKER)
    await on.narrow('agent-erased')
    expect((await succeed(on.server.call('GET', `/v1/decisions/${other.id}`))).resource).toBe('order:9')
  })
})

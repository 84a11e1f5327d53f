/** Budgets: what is left, updated live, and the spending of past periods. */
import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPolicy, decide, succeed } from '../../../server/test/api/refunds.js'
import { TestClock } from '../../../server/test/running-server.js'
import { violationsOf } from './support/axe.js'
import { type Stage, stage } from './support/browser.js'

function budgeted(name: string, action: string, budget: object) {
  return { name, rules: [{ action, effect: 'allow' }], budget: { unit: 'EUR', period: 'monthly', ...budget } }
}

function spend(on: Stage, action: string, amount: number, agent_id = 'agent:a') {
  return decide(on.server, { agent_id, action, context: { amount } })
}

const confirm = async (on: Stage, { id }: { readonly id: string }, amount: number) =>
  succeed(on.server.call('POST', `/v1/decisions/${id}/confirm`, { body: { amount } }))

/** Returns the texts of the rows from the top. */
function rows(on: Stage): Locator {
  return on.page.getByRole('list', { name: 'Budgets' }).getByRole('listitem')
}

function row(on: Stage, text: string): Locator {
  return rows(on).filter({ hasText: text })
}

describe('the budgets', () => {
  const on = stage()

  it('of a new server name the next step', async () => {
    await on.open('/budgets', 'Budgets')
    const link = on.page.getByRole('link', { name: 'Write a policy with a budget' })
    expect(await link.getAttribute('href')).toBe('/policies/new')
    expect(await violationsOf(on.page)).toEqual([])
  })

  it('of each agent are named before any agent has one', async () => {
    const { id } = await createPolicy(on.server, budgeted('lonely', 'fax.send', { limit: 5, scope: 'agent' }))
    await on.open('/budgets', 'Budgets')
    const lonely = row(on, 'lonely')
    await lonely.getByText('5 EUR for each agent').waitFor()
    await lonely.getByText('Nothing spent yet in this period').waitFor()
    await on.page.getByText('1 in all').waitFor()
    expect(await on.page.getByText('No policy has a budget').count()).toBe(0)
    await on.look('budgets-unused')
    await on.narrow('budgets-unused')
    await on.server.call('DELETE', `/v1/policies/${id}`)
  })

  it('show how one runs to its limit, as it happens', async () => {
    await createPolicy(on.server, budgeted('refunds', 'payment.refund', { limit: 100 }))
    await createPolicy(on.server, budgeted('unused', 'email.send', { limit: 10, unit: 'calls', period: 'total' }))
    await on.open('/budgets', 'Budgets')
    const refunds = row(on, 'refunds')
    await refunds.getByText('100 EUR left of 100 EUR').waitFor()
    await refunds.getByText('0 EUR spent, 0 EUR reserved').waitFor()
    await row(on, 'unused').getByText('total, never resets').waitFor()

    const first = await spend(on, 'payment.refund', 42.5)
    await confirm(on, first, 40.000001)
    await spend(on, 'payment.refund', 42)
    await refunds.getByText('40.000001 EUR spent, 42 EUR reserved').waitFor()
    await refunds.getByText('17.999999 EUR left of 100 EUR').waitFor()
    await refunds.getByText('over 80 %').waitFor()
    await refunds.getByRole('img', { name: '82 % of 100 EUR used' }).waitFor()

    let last: { effect: string; reason_code: string }
    do last = await spend(on, 'payment.refund', 5.999999)
    while (last.effect === 'allow')
    expect(last.reason_code).toBe('budget_exceeded')
    await spend(on, 'payment.refund', 0.000002)
    await refunds.getByText('full', { exact: true }).waitFor()
    await refunds.getByText(/^0 EUR left of 100 EUR/).waitFor()
    await on.screenshot('budgets-full')
  })

  it('are found by agent, each with its own account', async () => {
    for (const id of ['agent:a', 'agent:b']) await on.server.call('POST', '/v1/agents', { body: { id } })
    await createPolicy(on.server, budgeted('each', 'sms.send', { limit: 5, unit: 'sms', amount: 1, scope: 'agent' }))
    for (const agent of ['agent:a', 'agent:a', 'agent:b']) await spend(on, 'sms.send', 1, agent)
    await on.open('/budgets', 'Budgets')
    await on.page.getByLabel('Search by policy, agent or unit').fill('AGENT:B')
    await on.page.getByText('1 of 4').waitFor()
    await rows(on).getByText('4 sms left of 5 sms').waitFor()
    await on.page.getByLabel('Search by policy, agent or unit').fill('nothing like it')
    await on.page.getByRole('button', { name: 'Show all budgets' }).click()
    await expect.poll(() => rows(on).count()).toBe(4)
    // The budget nearest to its limit is the first.
    await rows(on).first().getByText('refunds').waitFor()
  })

  it('of each agent are named beside accounts, until an agent has used them', async () => {
    const total = { limit: 7, unit: 'faxes', amount: 1, scope: 'agent', period: 'total' }
    await createPolicy(on.server, budgeted('lonely', 'fax.send', total))
    await createPolicy(on.server, { ...budgeted('idle', 'fax.read', total), enabled: false })
    await on.open('/budgets', 'Budgets')
    await row(on, 'refunds').first().waitFor()
    const lonely = row(on, 'lonely')
    await lonely.getByText('7 faxes for each agent').waitFor()
    await lonely.getByText('Nothing spent yet', { exact: true }).waitFor()
    await row(on, 'idle').getByText('policy disabled').waitFor()
    await on.look('budgets-mixed')
    await on.narrow('budgets-mixed')
    await on.page.getByLabel('Search by policy, agent or unit').fill('lonely')
    await on.page.getByText('1 of 6').waitFor()
    await spend(on, 'fax.send', 1, 'agent:a')
    await lonely.getByText('6 faxes left of 7 faxes').waitFor()
    expect(await on.page.getByText('Nothing spent yet').count()).toBe(0)
    for (const { id } of (await succeed(on.server.call('GET', '/v1/policies?limit=100'))).data.filter(
      ({ name }: { name: string }) => name === 'lonely' || name === 'idle',
    ))
      await on.server.call('DELETE', `/v1/policies/${id}`)
  })

  it('of a deleted policy are named as such, while something is reserved', async () => {
    const { id } = await createPolicy(on.server, budgeted('short-lived', 'payment.fee', { limit: 1 }))
    await spend(on, 'payment.fee', 0.25)
    await on.server.call('DELETE', `/v1/policies/${id}`)
    await on.open('/budgets', 'Budgets')
    const gone = row(on, 'short-lived')
    await gone.getByText('policy deleted').waitFor()
    await gone.getByText('0.75 EUR left of 1 EUR').waitFor()
    expect(await gone.getByRole('link').count()).toBe(0)
    await gone.getByRole('button', { name: 'History' }).click()
    await on.page.getByRole('dialog').getByText('No past periods').waitFor()
  })
})

describe('past periods', () => {
  const now = new Date()
  const clock = new TestClock()
  const on = stage({ clock })
  const monthBefore = (months: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 10))
  const nameOf = (date: Date) => date.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

  beforeAll(async () => {
    clock.set(monthBefore(2))
    await createPolicy(on.server, budgeted('refunds', 'payment.refund', { limit: 1000 }))
    await createPolicy(on.server, budgeted('payouts of the night shift', 'payment.payout', { limit: 200 }))
    await confirm(on, await spend(on, 'payment.refund', 900), 900)
    clock.set(monthBefore(1))
    await confirm(on, await spend(on, 'payment.refund', 250.5), 250.5)
    clock.set(now)
    await spend(on, 'payment.refund', 1)
    await confirm(on, await spend(on, 'payment.payout', 120), 120)
    await spend(on, 'payment.payout', 50)
  })

  it('tell what was spent of the limit', async () => {
    await on.open('/budgets', 'Budgets')
    await row(on, 'refunds').getByText('999 EUR left of 1,000 EUR').waitFor()
    await on.look('budgets-past')
    await on.narrow('budgets-past')
    await row(on, 'refunds').getByRole('button', { name: 'History' }).click()
    const past = on.page.getByRole('dialog', { name: 'History of refunds' }).getByRole('listitem')
    await past.first().waitFor()
    expect(await past.allTextContents()).toEqual([
      `${nameOf(monthBefore(1))}250.5 EUR of 1,000 EUR, 25 %`,
      `${nameOf(monthBefore(2))}900 EUR of 1,000 EUR, 90 %`,
    ])
    await on.look('budgets-history')
    await on.narrow('budgets-history')
    await on.page.keyboard.press('Escape')
    await on.page.getByRole('dialog').waitFor({ state: 'detached' })
  })
})

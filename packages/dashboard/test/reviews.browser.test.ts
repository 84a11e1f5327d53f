/** The review queue on a real server, with callers that really wait. */
import { Countersign } from '@countersign/client'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createPolicy, decide, makeKey, REFUNDS, REVIEWED, succeed } from '../../../server/test/api/refunds.js'
import { violationsOf } from './support/axe.js'
import { type Stage, stage } from './support/browser.js'

const READS = ['decisions:read', 'policies:read', 'budgets:read']

/** Returns the card of a resource. */
function card(page: Page, resource: string): Locator {
  return page.getByRole('article').filter({ hasText: resource })
}

/** Creates a separate request that waits. */
async function waits(on: Stage, resource: string, changes: object = {}, key?: string) {
  return decide(on.server, { ...REVIEWED, resource, ...changes }, key)
}

const statusOf = async (on: Stage, id: string) => {
  const { status, review } = await succeed(on.server.call('GET', `/v1/decisions/${id}`))
  return { status, comment: review.comment }
}

function conflict(on: Stage, status: number): void {
  expect(on.complaints.splice(0)).toEqual([expect.stringContaining(String(status))])
}

async function withBudget(on: Stage, action: string, budget: object): Promise<void> {
  await createPolicy(on.server, {
    name: `reviews of ${action}`,
    rules: [
      { action, effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
      { action, effect: 'review', reason: 'A person looks at more than 100.' },
    ],
    budget: { limit: 500, unit: 'EUR', period: 'monthly', ...budget },
  })
}

describe('the review queue', () => {
  const on = stage()

  it('that is empty says what brings reviews here', async () => {
    await on.open('/reviews', 'Reviews')
    await on.page.getByText('No pending reviews').waitFor()
    await on.page.getByRole('link', { name: 'Choose which requests need a review' }).waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await createPolicy(on.server, REFUNDS)
  })

  it('approves what a caller of the SDK waits for, as soon as it is asked', async () => {
    const bot = await makeKey(on.server, ['decisions:write'])
    const client = new Countersign({ baseUrl: on.server.url, apiKey: bot.key })
    await on.open('/reviews', 'Reviews')
    await on.page.getByText('· live').waitFor()
    const ran = client.guard(
      { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:sdk', context: { amount: 420 } },
      async ({ context }) => `paid ${context.amount}`,
      { review: 'wait' },
    )
    const asked = card(on.page, 'order:sdk')
    await asked.getByText('Refunds over 100 need a person.').waitFor()
    await asked.getByText('Rule 2 of refunds').waitFor()
    await asked.getByText('No budget applies.').waitFor()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    expect(await ran).toBe('paid 420')
    await on.page.getByText('The agent can now run it once.').waitFor()
    await expect.poll(() => asked.count()).toBe(0)
  })

  it('declines with a note, which the answered reviews show', async () => {
    const { id } = await waits(on, 'order:declined')
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:declined')
    await asked.getByRole('button', { name: 'Decline …' }).click()
    await asked.getByLabel('Note (optional)').fill('not without the receipt')
    await asked.getByRole('button', { name: 'Decline', exact: true }).click()
    await on.page.getByText('The agent will not run it.').waitFor()
    expect(await statusOf(on, id)).toEqual({ status: 'declined', comment: 'not without the receipt' })
    await on.page.getByRole('tab', { name: 'Reviewed' }).click()
    await on.page.getByText('Declined', { exact: true }).click()
    const row = on.page.getByRole('row').filter({ hasText: 'order:declined' })
    await row.getByText('not without the receipt').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await on.screenshot('reviews-answered')
  })

  it('shows characters that cannot be seen', async () => {
    const { id } = await waits(on, 'order:hidden', { context: { amount: 420, note: 'pay\u202eeur\u200b' } })
    await on.open('/reviews', 'Reviews')
    await card(on.page, 'order:hidden').getByText('pay\\u202eeur\\u200b').waitFor()
    await succeed(on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} }))
  })

  it('is worked through with the keyboard, and nothing is approved by one key', async () => {
    const first = await waits(on, 'order:key-1')
    const second = await waits(on, 'order:key-2')
    await on.open('/reviews', 'Reviews')
    const { keyboard } = on.page
    const one = card(on.page, 'order:key-1')
    const other = card(on.page, 'order:key-2')
    await one.waitFor()
    await keyboard.press('a')
    expect(await on.page.getByRole('form').count()).toBe(0)

    await keyboard.press('?')
    await on.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await on.screenshot('reviews-keys')
    await keyboard.press('j')
    await keyboard.press('Escape')
    await on.page.getByRole('dialog').waitFor({ state: 'detached' })

    await keyboard.press('j')
    await one.getByRole('listitem').and(on.page.locator(':focus')).waitFor()
    await keyboard.press('ArrowDown')
    await other.getByRole('listitem').and(on.page.locator(':focus')).waitFor()
    await keyboard.press('k')
    await one.getByRole('listitem').and(on.page.locator(':focus')).waitFor()

    await keyboard.press('Control+a')
    expect(await on.page.getByRole('form').count()).toBe(0)
    await keyboard.press('a')
    await one.getByRole('button', { name: 'Approve', exact: true }).and(on.page.locator(':focus')).waitFor()
    await keyboard.press('Escape')
    await one.getByRole('listitem').and(on.page.locator(':focus')).waitFor()
    expect((await statusOf(on, first.id)).status).toBe('awaiting_review')

    await keyboard.press('a')
    await one.getByRole('button', { name: 'Approve', exact: true }).and(on.page.locator(':focus')).waitFor()
    await keyboard.press('Enter')
    // The next review has the focus.
    await other.getByRole('listitem').and(on.page.locator(':focus')).waitFor()
    expect((await statusOf(on, first.id)).status).toBe('approved')

    await keyboard.press('d')
    await other.getByLabel('Note (optional)').and(on.page.locator(':focus')).waitFor()
    await keyboard.type('jad?')
    await keyboard.press('Enter')
    await expect.poll(() => statusOf(on, second.id)).toEqual({ status: 'declined', comment: 'jad?' })
  })

  it('has equal requests together, each with its own answer', async () => {
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await waits(on, 'order:equal')).id)
    await on.open('/reviews', 'Reviews')
    const group = card(on.page, 'order:equal')
    await group.getByText('3 equal requests').waitFor()
    expect(await group.getByRole('listitem').count()).toBe(3)
    await on.screenshot('reviews-equal')
    const middle = group.getByRole('listitem').nth(1)
    await middle.getByRole('button', { name: 'Approve …' }).click()
    await middle.getByRole('button', { name: 'Approve', exact: true }).click()
    await group.getByText('2 equal requests').waitFor()
    const now = await Promise.all(ids.map(async (id) => (await statusOf(on, id)).status))
    expect(now).toEqual(['awaiting_review', 'approved', 'awaiting_review'])
    for (const id of [ids[0], ids[2]]) await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} })
    // The third review has the focus, so it stays until the user continues.
    await group.getByText('Already declined').waitFor()
    await group.getByRole('button', { name: 'Continue' }).click()
    await expect.poll(() => group.count()).toBe(0)
  })

  it('keeps one that somebody else answers while its note is written', async () => {
    const { id } = await waits(on, 'order:race')
    const later = await waits(on, 'order:race-later')
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:race').first()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await asked.getByLabel('Note (optional)').fill('looks right')
    await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: { comment: 'too much' } })
    await asked.getByText('Already declined').waitFor()
    await asked.getByText('“too much”').waitFor()
    await asked.getByText('Your note was not sent: looks right').waitFor()
    await asked.getByRole('button', { name: 'Continue' }).click()
    await on.page.getByRole('listitem').and(on.page.locator(':focus')).waitFor()
    await expect.poll(() => on.page.getByText('Already declined').count()).toBe(0)
    await on.server.call('POST', `/v1/decisions/${later.id}/decline`, { body: {} })
  })

  it('takes an answer once, however often it is sent, and stays open while it is sent', async () => {
    const { id } = await waits(on, 'order:lost')
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:lost').first()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    const keys: (string | undefined)[] = []
    let lose = () => {}
    const isHeld = new Promise<void>((resolve) => {
      lose = resolve
    })
    const path = `**/decisions/${id}/approve`
    // A lost request is sent again.
    await on.page.route(path, async (route) => {
      keys.push(route.request().headers()['idempotency-key'])
      if (keys.length > 1) return route.continue()
      await isHeld
      await route.abort()
    })
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    await expect.poll(() => asked.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
    await asked.getByLabel('Note (optional)').press('Escape')
    await on.page.getByRole('heading', { level: 1 }).click()
    await on.page.keyboard.press('d')
    expect(await asked.getByRole('form', { name: 'Approve payment.refund' }).count()).toBe(1)
    lose()
    await asked.getByText('The server is not responding.').waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('ERR_FAILED')])
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    await expect.poll(async () => (await statusOf(on, id)).status).toBe('approved')
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]])
  })

  it('says beside a review why the server refuses to answer it', async () => {
    const suspended = await waits(on, 'order:suspended', { agent_id: 'agent:support-9' })
    await on.open('/reviews?agent_id=agent:support-9', 'Reviews')
    const asked = card(on.page, 'order:suspended')
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await on.server.call('POST', '/v1/agents/agent:support-9/suspend', { body: {} })
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    await asked.getByRole('alert').getByText('The agent is suspended').waitFor()
    conflict(on, 409)
    // An approval is offered only once the server would accept it.
    await expect.poll(() => asked.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0)
    await on.server.call('POST', '/v1/agents/agent:support-9/resume')
    await asked.getByRole('button', { name: 'Approve', exact: true }).waitFor()

    const { id: policy } = await createPolicy(on.server, {
      name: 'no more refunds',
      priority: 10,
      rules: [{ action: 'payment.refund', effect: 'deny', reason: 'Refunds are off.' }],
    })
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    await asked.getByRole('alert').getByText('The current policies deny it').waitFor()
    await asked.getByText('The server would not accept an approval right now: Refunds are off.').waitFor()
    conflict(on, 409)
    await on.screenshot('reviews-refused')
    await on.server.call('DELETE', `/v1/policies/${policy}`)
    await on.page.getByRole('button', { name: 'Show all agents' }).click()
    await on.server.call('POST', `/v1/decisions/${suspended.id}/decline`, { body: {} })
  })

  it('offers an approval only where the server would take one', async () => {
    const { id } = await waits(on, 'order:off')
    const { id: policy } = await createPolicy(on.server, {
      name: 'refunds are off',
      priority: 10,
      rules: [{ action: 'payment.refund', effect: 'deny', reason: 'Refunds are off.' }],
    })
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:off')
    await asked.getByText('The server would not accept an approval right now: Refunds are off.').waitFor()
    await asked.getByText('It cannot be approved right now').waitFor()
    expect(await asked.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
    await asked.getByRole('listitem').focus()
    await on.page.keyboard.press('a')
    expect(await asked.getByRole('form').count()).toBe(0)
    await on.look('reviews-off')
    await on.narrow('reviews-off')
    await asked.getByRole('button', { name: 'Decline …' }).waitFor()
    // It comes back automatically.
    await on.server.call('DELETE', `/v1/policies/${policy}`)
    await asked.getByRole('button', { name: 'Approve …' }).waitFor()
    await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} })
  })

  it('takes away the button of an open form when the server would refuse, and keeps the note', async () => {
    await withBudget(on, 'payment.rent', { limit: 500 })
    const { id } = await waits(on, 'order:rent', { action: 'payment.rent', context: { amount: 300 } })
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:rent')
    await asked.getByText('200 EUR of 500 EUR left after it').waitFor()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await asked.getByLabel('Note (optional)').fill('the flat in Bonn')
    for (let i = 0; i < 3; i++)
      await decide(on.server, { agent_id: 'agent:support-7', action: 'payment.rent', context: { amount: 90 } })
    await asked.getByText('its policy does not let reviewers exceed it').waitFor()
    expect(await asked.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0)
    await asked.getByLabel('Note (optional)').press('Enter')
    expect((await statusOf(on, id)).status).toBe('awaiting_review')
    expect(await asked.getByLabel('Note (optional)').inputValue()).toBe('the flat in Bonn')
    await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} })
  })

  it('has a note again when the session has ended, for the same key alone', async () => {
    const { id } = await waits(on, 'order:noted')
    const other = await makeKey(on.server, ['*'])
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:noted')
    const note = asked.getByLabel('Note (optional)')
    const signInWith = async (key: string) => {
      await on.page.getByLabel('API key').first().fill(key)
      await on.page.getByRole('button', { name: 'Sign in' }).click()
      await asked.waitFor()
    }
    const kept = asked.getByText('Your note, not sent yet: only with the receipt')
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await note.fill('only with the receipt')
    await on.context.clearCookies()
    await asked.getByRole('button', { name: 'Approve', exact: true }).click()
    await signInWith(other.key)
    expect(await kept.count()).toBe(0)
    await on.context.clearCookies()
    await on.page.reload()
    await signInWith(on.server.key)
    await kept.waitFor()
    await asked.getByRole('button', { name: 'Decline …' }).click()
    expect(await note.inputValue()).toBe('only with the receipt')
    await note.press('Escape')
    await kept.waitFor()
    await on.page.getByRole('button', { name: 'Sign out' }).click()
    await signInWith(on.server.key)
    expect(await kept.count()).toBe(0)
    await asked.getByRole('button', { name: 'Decline …' }).click()
    await note.fill('no receipt')
    await asked.getByRole('button', { name: 'Decline', exact: true }).click()
    await expect.poll(() => statusOf(on, id)).toEqual({ status: 'declined', comment: 'no receipt' })
    expect(await on.page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('receipt')
    expect(on.complaints.splice(0).filter((one) => !one.includes('401'))).toEqual([])
  })

  it('lets nobody answer what a related key asked', async () => {
    const kin = await makeKey(on.server, ['keys:write', 'decisions:write', 'reviews:write', ...READS])
    const child = await succeed(
      on.server.call('POST', '/v1/keys', { body: { name: 'child', scopes: ['decisions:write'] }, key: kin.key }),
    )
    const own = await waits(on, 'order:own', {}, kin.key)
    const childs = await waits(on, 'order:child', {}, child.key)
    const page = await on.another(kin.key)
    await page.goto('/reviews')
    await card(page, 'order:own').getByText('Your own key made this request').waitFor()
    const asked = card(page, 'order:child')
    await asked.getByRole('button', { name: 'Decline …' }).click()
    await asked.getByRole('button', { name: 'Decline', exact: true }).click()
    await asked.getByRole('alert').getByText('You cannot review this one').waitFor()
    conflict(on, 403)
    for (const { id } of [own, childs]) await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} })
    await page.context().close()
  })

  it('is read only without reviews:write', async () => {
    const { id } = await waits(on, 'order:read-only')
    const { key } = await makeKey(on.server, ['decisions:read'])
    const page = await on.another(key)
    await page.goto('/reviews')
    await page.getByText('You can read these reviews but not decide them').waitFor()
    await card(page, 'order:read-only').getByText('it is missing policies:read and budgets:read').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    expect(await page.getByRole('button', { name: /Approve|Decline/ }).count()).toBe(0)
    await on.server.call('POST', `/v1/decisions/${id}/decline`, { body: {} })
    await page.context().close()
  })

  it('says what a budget has left after an approval, and keeps its limit', async () => {
    await withBudget(on, 'payment.payout', {})
    await createPolicy(on.server, {
      name: 'all payouts',
      rules: [{ action: 'payment.payout', effect: 'allow' }],
      budget: { limit: 5000, unit: 'EUR', period: 'total' },
    })
    const small = await waits(on, 'order:small', { action: 'payment.payout', context: { amount: 420 } })
    const big = await waits(on, 'order:big', { action: 'payment.payout', context: { amount: 170.5 } })
    await on.open('/reviews', 'Reviews')
    const first = card(on.page, 'order:small')
    const second = card(on.page, 'order:big')
    await first.getByText('80 EUR of 500 EUR left after it, 500 EUR now').waitFor()
    await first.getByText('4,580 EUR of 5,000 EUR left after it').waitFor()
    await second.getByText('329.5 EUR of 500 EUR left after it').waitFor()
    await first.getByRole('button', { name: 'Approve …' }).click()
    await first.getByRole('button', { name: 'Approve', exact: true }).click()
    await second.getByText('170.5 EUR asked, 80 EUR left: 90.5 EUR too much').waitFor()
    await second.getByText('It cannot be approved right now').waitFor()
    expect(await second.getByRole('button', { name: 'Approve …' }).count()).toBe(0)
    expect((await statusOf(on, small.id)).status).toBe('approved')
    await on.server.call('POST', `/v1/decisions/${big.id}/decline`, { body: {} })
  })

  it('exceeds a budget when its policy lets a reviewer, and only by an explicit word', async () => {
    await withBudget(on, 'payment.bonus', { limit: 60, on_exceed: 'review' })
    const { id } = await waits(on, 'order:bonus', { action: 'payment.bonus', context: { amount: 90 } })
    const reviewer = await makeKey(on.server, ['reviews:write', 'decisions:read'])
    const page = await on.another(reviewer.key)
    await page.goto('/reviews')
    const blind = card(page, 'order:bonus')
    // This key knows the budget only from the decision and from the server's response.
    await blind.getByText('It asked for 90 EUR when 60 EUR were left.').waitFor()
    await blind.getByRole('button', { name: 'Approve …' }).click()
    expect(await blind.getByRole('checkbox').count()).toBe(0)
    await blind.getByRole('button', { name: 'Approve', exact: true }).click()
    await blind.getByRole('checkbox', { name: 'Exceed the budget' }).waitFor()
    conflict(on, 409)
    await page.context().close()

    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:bonus')
    await asked.getByText('90 EUR asked, 60 EUR left: 30 EUR too much').waitFor()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await asked.getByRole('checkbox', { name: 'Exceed the budget' }).check()
    expect(await violationsOf(on.page)).toEqual([])
    await on.screenshot('reviews-exceed')
    await asked.getByRole('button', { name: 'Approve and exceed the budget' }).click()
    await on.page.getByText('The agent can now run it once.').waitFor()
    const { status, budgets } = await succeed(on.server.call('GET', `/v1/decisions/${id}`))
    expect({ status, budgets }).toMatchObject({ status: 'approved', budgets: [{ over_limit: true, reserved: true }] })
  })
})

describe('a long queue', () => {
  const on = stage()

  it('shows a part of itself, and more as the keyboard goes on', async () => {
    await createPolicy(on.server, REFUNDS)
    for (let i = 0; i < 30; i++) await waits(on, `order:${i}`)
    await on.open('/reviews', 'Reviews')
    await on.page.getByRole('button', { name: 'Show more (5 not shown)' }).waitFor()
    expect(await on.page.getByRole('article').count()).toBe(25)
    for (let i = 0; i < 26; i++) await on.page.keyboard.press('j')
    await expect.poll(() => on.page.getByRole('article').count()).toBe(26)
  })
})

describe('a review with little time left', () => {
  const on = stage({ settings: { reviewTtlSeconds: 8 } })

  it('says so, and that its time is over', async () => {
    await createPolicy(on.server, REFUNDS)
    await waits(on, 'order:urgent')
    await on.open('/reviews', 'Reviews')
    const asked = card(on.page, 'order:urgent')
    await asked.getByText(/^0 min 0\d s left$/).waitFor()
    await asked.getByRole('button', { name: 'Approve …' }).click()
    await asked.getByText('Expired').waitFor()
    await expect.poll(() => asked.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0)
  })
})

describe('the queue in light, in the dark and on a small screen', () => {
  const on = stage()

  it('is readable, also with a form open', async () => {
    await withBudget(on, 'payment.payout', { limit: 1000 })
    await createPolicy(on.server, REFUNDS)
    await waits(on, 'order:8812', {
      action: 'payment.payout',
      context: { amount: 420, to: 'DE02 1203 0000 0000 2020 51' },
    })
    for (let i = 0; i < 2; i++) await waits(on, 'order:8813')
    await on.open('/reviews', 'Reviews')
    await card(on.page, 'order:8812').getByText('580 EUR of 1,000 EUR left after it').waitFor()
    await on.look('reviews-budget')
    await on.narrow('reviews-budget')
    await card(on.page, 'order:8812').getByRole('button', { name: 'Approve …' }).click()
    await on.look('reviews-form')
    await on.narrow('reviews-form')
  })
})

/** The page of one decision: its reasons, and what a user can do next. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import {
  ALLOWED,
  allowing,
  createPolicy,
  DENIED,
  decide,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from '../../../server/test/api/refunds.js'
import { type Stage, stage } from './support/browser.js'

const run = promisify(execFile)
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const post = (on: Stage, path: string, body: object = {}, key?: string) =>
  succeed(on.server.call('POST', path, { body, ...(key !== undefined && { key }) }))

/** The refund policies, with a budget for every refund. */
function refundDesk(on: Stage): () => Promise<string> {
  const budget = { limit: 5000, unit: 'EUR', period: 'monthly' }
  let made: Promise<{ id: string }> | null = null
  return async () => {
    made ??= createPolicy(on.server, { ...REFUNDS, budget })
    return (await made).id
  }
}

describe('a decision', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  const policy = refundDesk(on)

  it('that denies is explained: what was tried, what was expected and found, and the nearest miss', async () => {
    const policyId = await policy()
    await createPolicy(on.server, { name: 'trial', mode: 'shadow', rules: [{ action: 'payment.*', effect: 'allow' }] })
    await createPolicy(on.server, allowing('mail.send'))
    const { id } = await decide(on.server, DENIED)
    await on.open(`/decisions/${id}`, 'Decision on payment.refund')
    const { page } = on
    await page
      .getByText(
        'Denied: rule 3 of "refunds" denies every payment.refund; rule 2 would have sent it to review, had context.amount been at most 1000 (it was 1500).',
      )
      .waitFor()
    const refunds = page.getByRole('region', { name: 'Policy refunds' })
    const nearest = refunds.locator('[data-nearest]')
    expect(await nearest.textContent()).toMatch(
      /^Rule 2 *review *does not match *nearest miss *context.amount \$lte *expected 1000 *actual 1500$/,
    )
    expect(await refunds.textContent()).toMatch(
      /Rule 1 *allow.*expected 100 *actual 1500.*Rule 3 *deny *matches *action *"payment\.refund" *is the one the rule names$/s,
    )
    await page.getByRole('region', { name: 'Policy trial' }).getByText('shadow').waitFor()
    await page.getByText('1 policy that did not apply').click()
    await page.getByRole('region', { name: 'Policy allows mail.send' }).getByText('no rule matches').waitFor()

    expect(await panel(page, 'Request').getByRole('region', { name: 'Context' }).textContent()).toContain(
      '"amount": 1500',
    )
    await panel(page, 'Permit claims').getByText('A denied decision has no permit.').waitFor()
    await panel(page, 'Audit position').getByText('decision.created').waitFor()

    const link = page.getByRole('link', { name: 'Draft a rule that would have allowed this' })
    await expect.poll(() => link.getAttribute('href')).toBe(`/policies/${policyId}?for=${id}`)
    await page.getByRole('link', { name: 'Open in the simulator' }).click()
    await expect.poll(() => page.url()).toBe(`${on.server.url}/simulator?for=${id}`)
    await page.goBack()
    await link.click()
    await expect.poll(() => page.url()).toBe(`${on.server.url}/policies/${policyId}?for=${id}`)
  })

  it('that matched a rule shows by which values', async () => {
    await createPolicy(on.server, {
      name: 'small fees',
      rules: [{ action: 'payment.fee', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } }],
    })
    const { id } = await decide(on.server, { agent_id: 'agent:a', action: 'payment.fee', context: { amount: 42.5 } })
    await on.open(`/decisions/${id}`)
    const held = on.page
      .getByRole('region', { name: 'Policy small fees' })
      .getByRole('list', { name: 'Conditions that matched' })
      .getByRole('listitem')
    await expect.poll(() => held.count()).toBe(2)
    expect(await held.last().textContent()).toMatch(/^context\.amount *42\.5 *is > 0 and <= 100$/)
    await on.look('decision-held', 'section[aria-label="Policy small fees"]')
    await on.narrow('decision-held', 'section[aria-label="Policy small fees"]')
  })

  it('that nothing came near to opens a new policy', async () => {
    const { id } = await decide(on.server, { agent_id: 'agent:x', action: 'nobody.allows' })
    await on.open(`/decisions/${id}`)
    await on.page.getByText('Denied: no policy matches this request.').waitFor()
    await on.page.getByRole('link', { name: 'Draft a rule that would have allowed this' }).click()
    await expect.poll(() => on.page.url()).toBe(`${on.server.url}/policies/new?for=${id}`)
  })

  it('with a missing value says so in words', async () => {
    await policy()
    const { context, ...without } = ALLOWED
    const { id } = await decide(on.server, without)
    await on.open(`/decisions/${id}`)
    const missed = on.page.getByRole('region', { name: 'Policy refunds' }).locator('[data-nearest]')
    await expect.poll(() => missed.textContent()).toMatch(/context.amount \$lte *expected 1000 *actual missing/)
    await on.page.getByText('The request has no context.').waitFor()
  })

  it('shows hostile text as text, and is copied as a command that asks the same', async () => {
    await policy()
    const hostile = `'"$(touch /tmp/owned)\`id\`<img src=x onerror=alert(1)></script><svg/onload=alert(1)>`
    const context = {
      amount: 9000,
      note: hostile,
      hidden: 'a\u202eb\u200bc',
      long: 'x'.repeat(20_000),
      [hostile]: [hostile],
    }
    const request = { ...DENIED, resource: `order:${hostile}`, context }
    const { id } = await decide(on.server, request)
    await on.open(`/decisions/${id}`)
    const shown = await panel(on.page, 'Request').getByRole('region', { name: 'Context' }).textContent()
    expect(shown).toContain('<img src=x onerror=alert(1)></script>')
    expect(shown).toContain(String.raw`a\u202eb\u200bc`)
    expect(await on.page.locator('img[src="x"], svg[onload]').count()).toBe(0)
    const widths = () => on.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
    const [wide, window_] = await widths()
    expect(wide).toBeLessThanOrEqual(window_ as number)

    await on.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await on.page.getByRole('button', { name: 'Copy as curl' }).click()
    await on.page.getByRole('button', { name: 'Copied' }).waitFor()
    const command = await on.page.evaluate(() => navigator.clipboard.readText())
    const env = { PATH: process.env.PATH, COUNTERSIGN_API_KEY: on.server.key }
    const { stdout } = await run('bash', ['--norc', '-c', command.replace('curl ', 'curl --silent ')], { env })
    const again = JSON.parse(stdout)
    expect(again).toMatchObject({ effect: 'deny', resource: request.resource })
    const hashes = await Promise.all(
      [id, again.id].map(async (one) => (await succeed(on.server.call('GET', `/v1/decisions/${one}`))).request_hash),
    )
    expect(hashes[0]).toBe(hashes[1])
  })

  it('shows the trace of its request, to copy, and leads to the other decisions of that trace', async () => {
    await policy()
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` }
    const ask = () => succeed(on.server.call('POST', '/v1/decisions', { body: DENIED, headers }))
    const [{ id }, other] = [await ask(), await ask()]
    const untraced = await decide(on.server, DENIED)
    await on.open(`/decisions/${id}`)
    const request = panel(on.page, 'Request')
    await request.getByText(trace).waitFor()
    await on.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await request.getByRole('button', { name: 'Copy trace id' }).click()
    await request.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await on.page.evaluate(() => navigator.clipboard.readText())).toBe(trace)
    await request.getByRole('link', { name: 'Decisions of this trace' }).click()
    await on.page.waitForURL(`**/decisions?trace_id=${trace}`)
    for (const one of [id, other.id]) await on.page.locator(`a[href="/decisions/${one}"]`).first().waitFor()
    expect(await on.page.locator(`a[href="/decisions/${untraced.id}"]`).count()).toBe(0)
    expect(await on.page.getByLabel('Trace').inputValue()).toBe(trace)
  })

  it('of a review follows it as it happens', async () => {
    await policy()
    const asker = await makeKey(on.server, ['decisions:write'])
    const reviewer = await makeKey(on.server, ['decisions:read', 'reviews:write'])
    const { id } = await decide(on.server, REVIEWED, asker.key)
    await on.open(`/decisions/${id}`)
    const review = panel(on.page, 'Review')
    await review.getByText('waiting').waitFor()
    await review.getByText('ends in 23 hours').waitFor()
    await panel(on.page, 'Permit claims').getByText('There is no permit until a reviewer approves.').waitFor()
    expect(await review.getByRole('link', { name: 'Approve or decline' }).getAttribute('href')).toBe(
      '/reviews?agent_id=agent%3Asupport-7',
    )
    await on.screenshot('decision-review')

    await post(on, `/v1/decisions/${id}/approve`, { comment: 'checked <b>the order</b>' }, reviewer.key)
    await review.getByText('checked <b>the order</b>').waitFor()
    await review.getByRole('link', { name: reviewer.id }).waitFor()
    await panel(on.page, 'Budget effect').getByText('420 EUR').waitFor()
    await post(on, `/v1/decisions/${id}/claim`, { holder: 'run-1' }, asker.key)
    const permit = panel(on.page, 'Permit claims')
    await permit.getByText('Valid.').waitFor()
    expect(await permit.textContent()).toMatch(/Effect \(effect\) *review/)
    await panel(on.page, 'Audit position').getByText('decision.claimed').waitFor()
    await post(on, `/v1/decisions/${id}/confirm`, { amount: 400, note: 'shipping kept' }, asker.key)
    await panel(on.page, 'Outcome').getByText('shipping kept').waitFor()
    await panel(on.page, 'Outcome').getByText('400 EUR').waitFor()
    await on.screenshot('decision-confirmed')
  })

  it('shows the claims of its permit, and never the permit', async () => {
    const policyId = await policy()
    const { id, permit_token } = await decide(on.server, ALLOWED)
    await on.open(`/decisions/${id}`)
    await panel(on.page, 'Audit position').getByText('decision.created').waitFor()
    const claims = JSON.parse(Buffer.from(permit_token.split('.')[1], 'base64url').toString())
    const shown = await panel(on.page, 'Permit claims').textContent()
    const { sub, action, resource, effect, jti, iat, exp, policy_id, request_hash, audit } = claims
    expect(policy_id).toBe(policyId)
    for (const claim of [sub, action, resource, effect, jti, policy_id, request_hash, audit.leaf])
      expect(shown).toContain(claim)
    expect(shown).not.toContain('(amount)')
    expect(shown).toContain('the permit also contains that amount')
    expect(shown).toMatch(new RegExp(`\\(iat\\) *${iat} `))
    expect(shown).toMatch(new RegExp(`\\(exp\\) *${exp} `))
    expect(await on.page.content()).not.toContain(permit_token.split('.')[2])
    expect(await panel(on.page, 'Budget effect').textContent()).toMatch(/Requested *42.5 EUR *Reserved *yes/)
    await on.look('decision-allowed')
  })

  it('that does not exist says so, with a way back', async () => {
    await on.open('/decisions/dec_01kagx3v5ne8sr6w1y6gqk4t2h', 'Decision')
    await on.page.getByText('Decision dec_01kagx3v5ne8sr6w1y6gqk4t2h not found').waitFor()
    await on.screenshot('decision-not-found')
    await on.page.getByRole('link', { name: 'See all decisions' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor()
    // The page reads again once its stream of events is connected.
    expect(on.complaints.splice(0).filter((one) => !one.includes('404'))).toEqual([])
  })

  it('shows a key of few scopes what it may see', async () => {
    await policy()
    const { id } = await decide(on.server, DENIED)
    const { key } = await makeKey(on.server, ['decisions:read'])
    const page = await on.another(key)
    await page.goto(`/decisions/${id}`)
    await page.getByText('Your key is missing the scope policies:read').waitFor()
    await page.getByText('Your key is missing the scope audit:read').waitFor()
    expect(await page.getByRole('link', { name: 'Draft a rule' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'agent:support-7' }).count()).toBe(0)
    await page.context().close()
  })
})

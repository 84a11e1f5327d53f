/** The audit log, and the check of a permit in the browser. */
import { generateSigningKey, mintPermitSync } from '@countersign/permit'
import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, DENIED, decide, makeKey, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { type Stage, stage } from './support/browser.js'

const log = (on: Stage) => on.page.getByRole('region', { name: 'Audit log' })
const rowsOf = (on: Stage) => log(on).locator('tbody tr').filter({ hasText: /\w/ })

async function check(on: Stage, permit: string) {
  await on.page.getByRole('textbox', { name: 'Permit' }).fill(permit)
  await on.page.getByRole('button', { name: 'Check', exact: true }).click()
}

describe('the audit log', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  let made: Promise<object> | null = null
  const policy = () => {
    made ??= createPolicy(on.server, REFUNDS)
    return made
  }

  it('lists what happened, and shows all of an entry', async () => {
    await policy()
    const { id } = await decide(on.server, DENIED)
    await on.open('/audit', 'Audit')
    await log(on).getByText(id).waitFor()
    await log(on).getByRole('button', { name: 'decision.created' }).first().click()
    const entry = on.page.getByRole('dialog', { name: 'decision.created' })
    expect(await entry.getByRole('region', { name: 'Data' }).textContent()).toContain('"effect": "deny"')
    await on.look('audit-entry')
    await entry.getByRole('link', { name: id }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decision on payment.refund' }).waitFor()
    await on.page.getByRole('link', { name: 'In the audit log' }).click()
    await expect.poll(() => new URL(on.page.url()).search).toBe(`?decision_id=${id}`)
  })

  it('is filtered by type, agent and decision, in the URL', async () => {
    await policy()
    const { id } = await decide(on.server, { ...DENIED, agent_id: 'agent:support-9' })
    await decide(on.server, ALLOWED)
    await on.open('/audit', 'Audit')
    await on.page.getByRole('combobox', { name: 'Type' }).click()
    await on.page.getByRole('option', { name: 'policy.created' }).click()
    await expect.poll(() => new URL(on.page.url()).search).toBe('?type=policy.created')
    await expect.poll(() => rowsOf(on).count()).toBe(1)
    await on.page.getByRole('button', { name: 'Clear filters' }).click()
    await on.page.getByLabel('Agent').fill('agent:support-9')
    await on.page.getByLabel('Agent').press('Enter')
    await expect.poll(() => rowsOf(on).count()).toBe(1)
    expect(new URL(on.page.url()).search).toBe('?agent_id=agent%3Asupport-9')
    await on.open(`/audit?decision_id=${id}`, 'Audit')
    await expect.poll(() => rowsOf(on).count()).toBe(1)
    await on.page.getByLabel('Agent').fill('agent:nobody')
    await on.page.getByLabel('Agent').press('Enter')
    await on.page.getByText('No entries match the filters').waitFor()
  })

  it('reads on as far as one scrolls', async () => {
    await policy()
    for (let count = 0; count < 130; count += 10)
      await Promise.all(Array.from({ length: 10 }, () => decide(on.server, DENIED)))
    await on.open('/audit', 'Audit')
    await log(on).getByRole('button', { name: 'decision.created' }).first().waitFor()
    expect(await rowsOf(on).count()).toBeLessThan(60)
    await expect
      .poll(async () => {
        await log(on).evaluate((frame) => frame.scrollTo(0, frame.scrollHeight))
        return log(on).getByRole('button', { name: 'policy.created' }).count()
      })
      .toBe(1)
  })

  it('is not for a key without audit:read', async () => {
    const { key } = await makeKey(on.server, ['decisions:read'])
    const page = await on.another(key)
    await page.goto('/audit')
    await page.getByText('It is missing the scope audit:read').waitFor()
    await page.context().close()
  })
})

describe('the check of a permit', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  let made: Promise<object> | null = null
  const open = async () => {
    made ??= createPolicy(on.server, { ...REFUNDS, budget: { limit: 1e6, unit: 'EUR', period: 'monthly' } })
    await made
    await on.open('/audit', 'Audit')
    await on.page.getByRole('button', { name: 'Check a permit' }).click()
  }
  const dialog = () => on.page.getByRole('dialog', { name: 'Check a permit' })

  it('takes a real one, sends it nowhere and keeps it nowhere', async () => {
    await open()
    const { id, permit_token } = await decide(on.server, ALLOWED)
    const sent: string[] = []
    on.page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')))
    await check(on, `${permit_token}\n`)
    await dialog().getByText('Genuine and valid').waitFor()
    await dialog().getByText('It matches the stored decision.').waitFor()
    const shown = await dialog().textContent()
    for (const text of [
      'agent:support-7',
      'payment.refund',
      'order:8812',
      '42.5 EUR',
      'a rule allows it',
      'authorized',
    ])
      expect(shown).toContain(text)
    await on.look('audit-permit')
    const signature = permit_token.split('.')[2]
    const kept = await on.page.evaluate(
      () =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]) +
        document.documentElement.outerHTML +
        Array.from(document.querySelectorAll('textarea'), ({ value }) => value).join(),
    )
    expect(kept).not.toContain(signature)
    expect(sent.filter((request) => request.includes(signature))).toEqual([])
    await dialog().getByRole('link', { name: id }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decision on payment.refund' }).waitFor()
  })

  it('refuses one that was changed, and one of another server', async () => {
    await open()
    const { permit_token } = await decide(on.server, ALLOWED)
    const [header, payload, signature] = permit_token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const changed = Buffer.from(JSON.stringify({ ...claims, amount: 4250 })).toString('base64url')
    await check(on, `${header}.${changed}.${signature}`)
    await dialog().getByRole('alert').getByText('The signature does not match').waitFor()
    expect(await dialog().textContent()).not.toContain('4,250')
    await on.screenshot('audit-permit-refused')
    await check(on, mintPermitSync(generateSigningKey(), claims))
    await dialog().getByRole('alert').getByText('The server has no key with this id').waitFor()
    await check(on, 'a permit')
    await dialog().getByRole('alert').getByText('It does not look like a permit').waitFor()
  })

  it('says nothing of a permit before it is compared, and compares it with what is read then', async () => {
    await open()
    const { id, permit_token } = await decide(on.server, ALLOWED)
    const decision = (path: string) => new RegExp(`/dashboard/v1/${path}`)
    let answer = () => {}
    const isHeld = new Promise<void>((resolve) => {
      answer = resolve
    })
    await on.page.route(decision(`decisions/${id}$`), async (route) => {
      await isHeld
      await route.continue()
    })
    await check(on, permit_token)
    await dialog().getByText('Comparing it with its decision').waitFor()
    expect(await dialog().getByText('Genuine and valid').count()).toBe(0)
    await succeed(on.server.call('POST', `/v1/decisions/${id}/reject`, { body: {} }))
    answer()
    await dialog().getByText('Genuine, but the decision is rejected').waitFor()
    await on.page.unroute(decision(`decisions/${id}$`))
    // Without the audit log, the page cannot know whether the permit was redeemed.
    const other = await decide(on.server, ALLOWED)
    await on.page.route(decision('audit\\?'), (route) => route.fulfill({ status: 500 }))
    await check(on, other.permit_token)
    await dialog().getByText('It was not compared with its decision.').waitFor()
    await dialog().getByText('The server responded with status 500.').waitFor()
    expect(on.complaints.splice(0).every((text) => text.includes('500'))).toBe(true)
    await on.page.unroute(decision('audit\\?'))
    await dialog().getByRole('button', { name: 'Try again' }).click()
    await dialog().getByText('Genuine and valid').waitFor()
  })

  it('says so where the key may not read the decision', async () => {
    await open()
    const { permit_token } = await decide(on.server, ALLOWED)
    const { key } = await makeKey(on.server, ['audit:read'])
    const page = await on.another(key)
    await page.goto('/audit')
    await page.getByRole('button', { name: 'Check a permit' }).click()
    await page.getByRole('textbox', { name: 'Permit' }).fill(permit_token)
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('It was not compared with its decision.').waitFor()
    await page.getByText('Your key is missing the scope decisions:read.').waitFor()
    expect(await page.getByText('Genuine and valid').count()).toBe(0)
    await page.context().close()
  })

  it('tells what became of the decision since', async () => {
    await open()
    const redeemed = await decide(on.server, ALLOWED)
    await succeed(on.server.call('POST', '/v1/permits/redeem', { body: { permit_token: redeemed.permit_token } }))
    await check(on, redeemed.permit_token)
    await dialog().getByText('Genuine, but used up').waitFor()
    const rejected = await decide(on.server, ALLOWED)
    await succeed(on.server.call('POST', `/v1/decisions/${rejected.id}/reject`, { body: {} }))
    await check(on, rejected.permit_token)
    await dialog().getByText('Genuine, but the decision is rejected').waitFor()
  })
})

describe('a permit whose time is over', () => {
  const on = stage({ settings: { decisionTtlSeconds: 1 } })

  it('is genuine all the same', async () => {
    await createPolicy(on.server, REFUNDS)
    const { permit_token } = await decide(on.server, ALLOWED)
    await on.open('/audit', 'Audit')
    await on.page.getByRole('button', { name: 'Check a permit' }).click()
    await expect
      .poll(
        async () => {
          await check(on, permit_token)
          return on.page
            .getByRole('dialog')
            .getByText(/^Genuine/)
            .textContent()
        },
        { interval: 300, timeout: 10_000 },
      )
      .toBe('Genuine, but expired')
  })
})

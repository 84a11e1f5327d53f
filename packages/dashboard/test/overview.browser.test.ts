import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, DENIED, decide, makeKey, REFUNDS, REVIEWED } from '../../../server/test/api/refunds.js'
import { signIn, stage } from './support/browser.js'

describe('the overview', () => {
  const on = stage()

  it('of a new server names the next step', async () => {
    await on.open('/', 'Overview')
    await on.page.getByRole('link', { name: 'Connect an agent' }).waitFor()
    await on.screenshot('overview-empty')
  })

  it('shows what was decided, and what was denied most', async () => {
    await createPolicy(on.server, REFUNDS)
    for (const request of [ALLOWED, ALLOWED, DENIED, REVIEWED]) await decide(on.server, request)
    await on.open('/', 'Overview')
    const figure = (label: string) => on.page.getByText(label, { exact: true }).locator('..')
    await figure('Decisions').getByText('4', { exact: true }).waitFor()
    await figure('Allowed').getByText('50 %').waitFor()
    await figure('Pending reviews').getByText('1', { exact: true }).waitFor()
    await on.page.getByRole('link', { name: 'Review them' }).waitFor()
    await on.page.getByRole('table', { name: 'Most denied actions' }).getByRole('link', { name: DENIED.action }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor()
    expect(new URL(on.page.url()).search).toBe(`?action=${DENIED.action}&effect=deny`)
    await on.screenshot('decisions-denied')
  })

  it('asks for nothing that a key which is bound to agents may not see', async () => {
    const { key } = await makeKey(on.server, ['decisions:read', 'budgets:read'], { agents: ['agent:support-*'] })
    await on.context.clearCookies()
    await signIn(on.context, on.server, key)
    await on.open('/', 'Overview')
    await on.page.getByText('Decisions by effect', { exact: true }).waitFor()
    expect(await on.page.getByText('Most denied actions').count()).toBe(0)
  })
})

/** An open page while its session, its server or its stream of events changes. */
import { describe, expect, it } from 'vitest'
import { ALLOWED, createPolicy, decide, makeKey, REFUNDS } from '../../../server/test/api/refunds.js'
import { signIn, stage } from './support/browser.js'

describe('an open page', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  const suspend = async () => {
    await on.page.getByRole('button', { name: 'Suspend' }).first().click()
    await on.page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  }
  const isSuspended = async (id: string) => (await on.server.call('GET', `/v1/agents/${id}`)).body.suspended != null

  it('sends nothing as another key than the one it shows', async () => {
    await decide(on.server, { ...ALLOWED, agent_id: 'agent:a' })
    await on.open('/agents/agent:a')
    const other = await makeKey(on.server, ['*'])
    await on.page.getByRole('button', { name: 'Suspend' }).first().waitFor()
    // An automatic read would reveal the other key to the page before the click.
    await on.page.route('**/v1/**', (route) => (route.request().method() === 'GET' ? undefined : route.continue()))
    await signIn(on.context, on.server, other.key)
    await suspend()
    await on.page.getByText('This browser is now signed in with another key').first().waitFor()
    await on.page.unroute('**/v1/**')
    expect(await isSuspended('agent:a')).toBe(false)
    // The browser reports the refusal on its console.
    expect(on.complaints.splice(0).filter((one) => !/40[13]/.test(one))).toEqual([])
    // From then on the page shows and uses the other key.
    await on.page.getByRole('banner').getByText('*', { exact: true }).waitFor()
  })

  it('goes on when the same key has signed in again', async () => {
    await on.open('/agents/agent:b')
    await signIn(on.context, on.server, on.server.key)
    await suspend()
    await on.page.getByRole('button', { name: 'Resume' }).first().waitFor()
    expect(await isSuspended('agent:b')).toBe(true)
    // The browser reports the 404 for the unknown agent, and the refusal.
    expect(on.complaints.splice(0).filter((one) => !/40[134]/.test(one))).toEqual([])
  })

  it('shows the sign-in page when its key is revoked, and the page again after it', async () => {
    const { id, key } = await makeKey(on.server, ['decisions:read'])
    await on.context.clearCookies()
    await signIn(on.context, on.server, key)
    await on.open('/decisions', 'Decisions')
    await on.page.getByText('Live', { exact: true }).waitFor()
    await on.server.call('DELETE', `/v1/keys/${id}`)
    await on.page.getByRole('button', { name: 'Filter' }).click()
    await on.page.getByLabel('Action').fill('a.b')
    await on.page.getByLabel('Action').press('Enter')
    await on.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await on.page.getByLabel('API key').first().fill(on.server.key)
    await on.page.getByRole('button', { name: 'Sign in' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor()
    expect(on.complaints.splice(0).filter((one) => !one.includes('401'))).toEqual([])
  })

  it('gets events again after the server has refused the stream', async () => {
    await createPolicy(on.server, REFUNDS)
    await on.page.route('**/dashboard/v1/events*', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{}' }),
    )
    await on.open('/decisions', 'Decisions')
    await on.page.getByText('Not connected').waitFor()
    await on.page.unroute('**/dashboard/v1/events*')
    await on.page.getByText('Live', { exact: true }).waitFor()
    await decide(on.server, ALLOWED)
    await on.page.getByRole('table').getByText('authorized').first().waitFor()
    expect(on.complaints.splice(0).filter((one) => !one.includes('503'))).toEqual([])
  })

  it('keeps what is written while the session cannot be read', async () => {
    await on.open('/policies/new')
    const name = on.page.getByRole('textbox', { name: 'Name' })
    await name.fill('half written')
    for (const path of ['events*', 'keys/self', 'decisions*'])
      await on.page.route(`**/dashboard/v1/${path}`, (route) => route.fulfill({ status: 502, body: 'bad gateway' }))
    await on.page.route('**/dashboard/session', (route) => route.fulfill({ status: 502, body: 'bad gateway' }))
    const failed = on.page.waitForResponse((answer) => answer.url().endsWith('/keys/self'))
    await on.page.evaluate(() => {
      for (const hidden of [true, false]) {
        Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
        document.dispatchEvent(new Event('visibilitychange'))
      }
    })
    await failed
    expect(await name.inputValue()).toBe('half written')
    expect(on.complaints.splice(0).filter((one) => !one.includes('502'))).toEqual([])
    // Leaving would ask about the unsaved text, and the end of a test answers no dialog.
    await on.page.unrouteAll()
  })

  it('has what was written when the session has ended, for the same key alone', async () => {
    const policy = await createPolicy(on.server, { ...REFUNDS, name: 'half changed' })
    const sessionEnds = async () => {
      await on.context.clearCookies()
      await on.page.getByRole('button', { name: 'Save', exact: true }).click()
      await on.page.getByRole('button', { name: 'Sign in' }).waitFor()
    }
    const signInWith = async (key: string) => {
      await on.page.getByLabel('API key').first().fill(key)
      await on.page.getByRole('button', { name: 'Sign in' }).click()
      await on.page.getByRole('heading', { level: 1, name: 'half changed' }).waitFor()
    }
    const priority = on.page.getByLabel('Priority')
    await on.open(`/policies/${policy.id}`, 'half changed')
    await priority.fill('7')
    await on.page.getByText('no errors').waitFor()
    await sessionEnds()
    await signInWith(on.server.key)
    await on.page.getByText('Not saved', { exact: true }).waitFor()
    expect(await priority.inputValue()).toBe('7')
    await on.page.getByText('no errors').waitFor()
    await sessionEnds()
    await signInWith((await makeKey(on.server, ['*'])).key)
    await on.page.getByText('Saved', { exact: true }).waitFor()
    expect(await priority.inputValue()).toBe('0')
    expect(on.complaints.splice(0).filter((one) => !one.includes('401'))).toEqual([])
  })

  it('asks a few times for a page that fails, and not without end', async () => {
    for (let i = 0; i < 130; i++) await decide(on.server, ALLOWED)
    let asked = 0
    await on.page.route('**/dashboard/v1/decisions?*cursor=*', (route) => {
      asked += 1
      return route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"title":"x","detail":"x"}' })
    })
    await on.open('/decisions', 'Decisions')
    const list = on.page.getByRole('region', { name: 'Decisions' })
    await list.getByRole('link').first().waitFor()
    await list.evaluate((frame) => frame.scrollTo(0, frame.scrollHeight))
    await on.page.getByRole('alert').waitFor()
    // An unwanted read would start at once, so the next frames would show it.
    await on.page.evaluate(async () => {
      for (let i = 0; i < 60; i++) await new Promise(requestAnimationFrame)
    })
    expect(asked).toBe(1)
    expect(on.complaints.splice(0).filter((one) => !one.includes('500'))).toEqual([])
  })
})

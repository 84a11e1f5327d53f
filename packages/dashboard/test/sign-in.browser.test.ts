/** Signs in by the link of the terminal or with a key, and signs out. */
import { describe, expect, it } from 'vitest'
import { makeKey } from '../../../server/test/api/refunds.js'
import { launchBrowser, signIn, stage } from './support/browser.js'

describe('signing in', () => {
  const on = stage({ isSignedOut: true })

  it('takes an API key, and leaves it nowhere', async () => {
    await on.page.goto('/decisions')
    await on.page.getByLabel('API key').first().fill(on.server.key)
    await on.page.getByRole('button', { name: 'Sign in' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor()
    expect(new URL(on.page.url()).pathname).toBe('/decisions')
    const kept = await on.page.evaluate(
      () =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]) +
        document.documentElement.outerHTML,
    )
    expect(kept).not.toContain(on.server.key)
  })

  it('takes the one-time link once', async () => {
    const code = on.server.started.composed.signInCode()
    await on.page.goto(`/sign-in#${code}`)
    await on.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(on.page.url()).toBe(`${on.server.url}/`)
    await on.page.getByRole('button', { name: 'Sign out' }).click()
    await on.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await on.page.goto('about:blank')
    // Reads that the page had sent before its session ended get 401.
    on.complaints.splice(0)
    await on.page.goto(`/sign-in#${code}`)
    await on.page.getByText('The link was used').waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('401')])
  })

  it('takes a link also from somebody who is signed in, as the key of the link', async () => {
    const { key } = await makeKey(on.server, ['webhooks:read'])
    await signIn(on.context, on.server, key)
    await on.page.goto('/')
    // Without decisions:read, the start page is the first one that the key can see.
    await on.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    await on.page.goto('about:blank')
    await on.page.goto(`/sign-in#${on.server.started.composed.signInCode()}`)
    await on.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await on.page.getByRole('banner').getByText('bootstrap').waitFor()
  })

  it('shows no form on a page that others could read', async () => {
    const { port } = new URL(on.server.url)
    const browser = await launchBrowser('--host-resolver-rules=MAP box.example 127.0.0.1')
    const page = await browser.newPage()
    await page.goto(`http://box.example:${port}/`)
    await page.getByText('It is not safe to sign in here').waitFor()
    expect(await page.getByLabel('API key').count()).toBe(0)
    await browser.close()
  })

  it('says what is wrong with a key', async () => {
    await on.page.goto('/')
    await on.page.getByLabel('API key').first().fill('cs_sk_nonsense')
    await on.page.getByRole('button', { name: 'Sign in' }).click()
    await on.page.getByRole('alert').getByText('This is not a valid API key').waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('401')])
  })
})

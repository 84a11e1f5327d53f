/** API keys are created, used, rotated and revoked, and no page keeps their secrets. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { everyItem, makeKey } from '../../../server/test/api/refunds.js'
import { violationsOf } from './support/axe.js'
import { stage } from './support/browser.js'

const SECRET = /cs_sk_[0-9A-Za-z]{49}/

describe('API keys', () => {
  const on = stage()

  const dialog = (name: string | RegExp) => on.page.getByRole('dialog', { name })
  const statusWith = async (key: string) => (await on.server.call('GET', '/v1/keys/self', { key })).status
  async function deed(name: string, what: string) {
    await on.page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click()
    await on.page.getByRole('menuitem', { name: what }).click()
  }
  /** Returns the shown secret, after the page has forgotten it. */
  async function takeSecret(name: string): Promise<string> {
    const shown = dialog(`The secret of ${name}`)
    const [secret = ''] = SECRET.exec((await shown.locator('code').textContent()) ?? '') ?? []
    expect(secret).not.toBe('')
    await shown.getByText('You won’t see this secret again').waitFor()
    await expect.poll(() => shown.evaluate((element) => element.contains(document.activeElement))).toBe(true)
    expect(await violationsOf(on.page)).toEqual([])
    await on.page.keyboard.press('Escape')
    await shown.getByRole('button', { name: 'I have copied it' }).click()
    await shown.waitFor({ state: 'detached' })
    expect(await everythingKept(on.page)).not.toContain(secret)
    return secret
  }

  it('one whose answer is lost is made once, and its form stays open meanwhile', async () => {
    await on.open('/keys', 'API keys')
    await on.page.getByRole('button', { name: 'Create a key' }).click()
    const create = dialog('Create a key')
    await create.getByLabel('Name').fill('lost and found')
    await create.getByRole('checkbox', { name: 'decisions:write' }).check()
    let lose = () => {}
    const isHeld = new Promise<void>((resolve) => {
      lose = resolve
    })
    await on.page.route('**/dashboard/v1/keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      await isHeld
      await route.abort()
    })
    await create.getByRole('button', { name: 'Create' }).click()
    await expect.poll(() => create.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
    expect(await create.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true)
    await on.page.keyboard.press('Escape')
    lose()
    await create.getByText('The server is not responding.').waitFor()
    // The console may tell of it later than the page.
    await expect.poll(() => on.complaints).toEqual([expect.stringContaining('ERR_FAILED')])
    on.complaints.length = 0
    await on.page.unroute('**/dashboard/v1/keys')
    await create.getByRole('button', { name: 'Create' }).click()
    const lost = dialog('The secret of lost and found')
    await lost.getByText('The response was lost, and the secret with it').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await lost.getByRole('button', { name: 'Close' }).click()
    const made = (await everyItem(on.server, '/v1/keys')).filter(({ name }) => name === 'lost and found')
    expect(made).toHaveLength(1)
  })

  it('one is made, used, rotated and revoked', async () => {
    await on.open('/keys', 'API keys')
    await on.page.getByRole('button', { name: 'Create a key' }).click()
    const create = dialog('Create a key')
    await create.getByLabel('Name').fill('support desk')
    await create.getByRole('button', { name: 'Create' }).click()
    await create.getByText('Choose at least one scope.').waitFor()
    await create.getByRole('checkbox', { name: 'decisions:write' }).check()
    await create.getByRole('checkbox', { name: 'webhooks:read' }).check()
    await create.getByRole('textbox', { name: 'Agents' }).fill('agent:support-*')
    // A key that is bound to agents cannot have this scope, so it is no longer chosen.
    expect(await create.getByRole('checkbox', { name: 'webhooks:read' }).isDisabled()).toBe(true)
    expect(await create.getByRole('checkbox', { name: 'webhooks:read' }).isChecked()).toBe(false)
    await create.getByLabel('Expires').selectOption('In 90 days')
    expect(await violationsOf(on.page)).toEqual([])
    await create.getByRole('button', { name: 'Create' }).click()
    const first = await takeSecret('support desk')
    const [made] = await everyItem(on.server, '/v1/keys')
    expect(made).toMatchObject({ name: 'support desk', scopes: ['decisions:write'], agents: ['agent:support-*'] })
    expect(Date.parse(made.expires_at) - Date.now()).toBeGreaterThan(89 * 86_400_000)
    expect(await statusWith(first)).toBe(200)

    await deed('support desk', 'Show details')
    await dialog('support desk').getByText(made.id).waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    await dialog('support desk').getByRole('button', { name: 'Close' }).click()

    await deed('support desk', 'Rotate the secret')
    await dialog('Rotate support desk').getByLabel('The old secret stays valid').selectOption('1 hour')
    expect(await violationsOf(on.page)).toEqual([])
    await dialog('Rotate support desk').getByRole('button', { name: 'Rotate' }).click()
    await on.page.getByText('The old secret ends in 1 hour.').waitFor()
    const second = await takeSecret('support desk')
    expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200])

    await deed('support desk', 'Rotate the secret')
    await dialog('Rotate support desk')
      .getByLabel('The old secret stays valid')
      .selectOption('not at all (after a leak)')
    await dialog('Rotate support desk').getByRole('button', { name: 'Rotate' }).click()
    const third = await takeSecret('support desk')
    expect([await statusWith(first), await statusWith(second), await statusWith(third)]).toEqual([401, 401, 200])

    await deed('support desk', 'Revoke')
    const question = dialog('Revoke support desk?')
    await question.getByText('Dashboard sessions of this key end too').waitFor()
    await question.getByRole('button', { name: 'Revoke permanently' }).click()
    const row = on.page.getByRole('row', { name: 'support desk' })
    await row.waitFor({ state: 'detached' })
    expect(await statusWith(third)).toBe(401)
    await on.page.getByLabel('Show revoked keys').check()
    await row.getByText('revoked').waitFor()
    expect(await violationsOf(on.page)).toEqual([])
  })

  it('the last one that may do everything stays', async () => {
    await on.open('/keys', 'API keys')
    await deed('bootstrap', 'Revoke')
    const question = dialog('Revoke bootstrap?')
    await question.getByText('you will be signed out').waitFor()
    await question.getByRole('button', { name: 'Revoke permanently' }).click()
    await question.getByRole('alert').getByText('This is the last live key with the scope *.').first().waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('409')])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await on.page.getByRole('row', { name: 'your session' }).getByText('live').waitFor()
  })

  it('one gives no more than it has', async () => {
    const expires_at = new Date(Date.now() + 40 * 86_400_000).toISOString()
    const { key } = await makeKey(on.server, ['keys:read', 'keys:write', 'decisions:write'], { expires_at })
    const page = await on.another(key)
    await page.goto('/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const create = page.getByRole('dialog', { name: 'Create a key' })
    const isOpen = (scope: string) => create.getByRole('checkbox', { name: scope, exact: true }).isEnabled()
    expect([await isOpen('decisions:write'), await isOpen('decisions:read'), await isOpen('*')]).toEqual([
      true,
      false,
      false,
    ])
    await create.getByText('Your own key does not have it.').first().waitFor()
    expect(await create.getByLabel('Expires').locator('option').allTextContents()).toEqual([
      'When your key expires',
      'In 30 days',
      'At a specific time …',
    ])
    await create.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Actions for bootstrap' }).click()
    expect(await page.getByRole('menuitem', { name: 'Revoke' }).isDisabled()).toBe(true)
    await page.getByText('Your key is missing *, which this one has.').waitFor()
  })

  it('revoking the own one signs out', async () => {
    const { key, id } = await makeKey(on.server, ['keys:read', 'keys:write'])
    const page = await on.another(key)
    await page.goto('/keys')
    await page.getByRole('row', { name: 'your session' }).getByRole('button').click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByText('This is the key of your session').waitFor()
    await page.getByRole('button', { name: 'Revoke permanently' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect((await on.server.call('GET', `/v1/keys/${id}`)).body.revoked_at).not.toBeNull()
    // The page may still send a read with the revoked key.
    await page.close()
    expect(on.complaints.splice(0).filter((one) => !one.includes('401'))).toEqual([])
  })

  it('a name is text, whatever it holds', async () => {
    await on.server.call('POST', '/v1/keys', {
      body: { name: '<img src=x onerror=alert(1)>\u202egnirts', scopes: ['decisions:read'] },
    })
    await on.open('/keys', 'API keys')
    await on.page.getByText('<img src=x onerror=alert(1)>\\u202egnirts').waitFor()
  })

  it('are made in a form that is readable in the dark and on a small screen', async () => {
    await on.open('/keys', 'API keys')
    await on.page.getByRole('button', { name: 'Create a key' }).click()
    await dialog('Create a key').getByRole('checkbox', { name: '*', exact: true }).check()
    await on.look('key-form')
    await on.narrow('key-form')
  })
})

/** Everything that a page stores. */
function everythingKept(page: Page): Promise<string> {
  return page.evaluate(
    () =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]) +
      document.documentElement.outerHTML,
  )
}

/** Pages while the network or the server is away, after a restart, and after an update of the server. */
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { violationsOf } from './support/axe.js'
import { type Stage, stage } from './support/browser.js'
import { fill, LOCAL_WEBHOOKS, pagesOf } from './support/fill.js'

const menu = (page: Page) => page.getByRole('navigation', { name: 'Pages' })
const isAway = (page: Page) => page.getByRole('status').getByText('The server is not responding', { exact: true })
/** The browser reports each failed call on its console. */
const forgetFailures = (on: Stage) =>
  expect(on.complaints.splice(0).filter((one) => !/ERR_|50[234]/.test(one))).toEqual([])

/** The pages of the menu, with their titles. */
const PAGES = {
  Overview: 'Overview',
  Decisions: 'Decisions',
  Reviews: 'Reviews',
  Budgets: 'Budgets',
  Audit: 'Audit',
  Policies: 'Policies',
  Simulator: 'Simulator',
  Agents: 'Agents',
  'Get started': 'Get started',
  'API keys': 'API keys',
  Webhooks: 'Webhooks',
}

describe('without a network', () => {
  const on = stage({ settings: LOCAL_WEBHOOKS })
  beforeAll(async () => {
    await fill(on.server)
  })
  afterEach(() => on.context.setOffline(false))

  it.each(Object.entries(PAGES))('%s keeps the menu, and comes by itself', async (link, title) => {
    await on.open(link === 'Get started' ? '/webhooks' : '/get-started')
    // No file of the page is loaded before the click.
    await on.context.setOffline(true)
    await menu(on.page).getByRole('link', { name: link }).click()
    await isAway(on.page).waitFor()
    expect(await menu(on.page).getByRole('link').count()).toBe(12)
    expect(await on.page.getByText('Something went wrong on this page').count()).toBe(0)
    await on.context.setOffline(false)
    await on.page.getByRole('heading', { level: 1, name: title }).waitFor()
    await expect.poll(() => on.page.getByRole('alert').count()).toBe(0)
    await expect.poll(() => isAway(on.page).count()).toBe(0)
    await expect.poll(() => on.page.getByRole('status', { name: /^Loading/ }).count()).toBe(0)
    forgetFailures(on)
  })
})

describe('a page that needs what the network keeps from it', () => {
  const on = stage()

  it('says so, in light, in the dark and on a small screen', async () => {
    await on.open('/decisions', 'Decisions')
    await on.page.getByText('Live', { exact: true }).waitFor()
    await on.context.setOffline(true)
    await menu(on.page).getByRole('link', { name: 'Simulator' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Not loaded yet' }).waitFor()
    await on.page.getByText('This device is offline.').waitFor()
    await on.look('away')
    await on.narrow('away')
    await on.context.setOffline(false)
    await on.page.getByRole('heading', { level: 1, name: 'Simulator' }).waitFor()
    forgetFailures(on)
  })
})

/** A browser allows few connections per server, and each visible window needs one for its events. */
const AT_ONCE = 3

describe('a server that starts', () => {
  const on = stage()

  it('is waited for by a window that was opened too early', async () => {
    const starting = {
      status: 503,
      contentType: 'application/problem+json',
      body: '{"title":"Starting.","detail":"x"}',
    }
    await on.page.route('**/dashboard/session', (route) => route.fulfill(starting))
    await on.page.goto('/budgets')
    await on.page.getByRole('alert').getByText('Starting.').waitFor()
    await on.page.unrouteAll()
    await on.page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor()
    forgetFailures(on)
  })
})

describe('a server that restarts', () => {
  const on = stage({ settings: LOCAL_WEBHOOKS })

  async function openAll(paths: readonly (readonly [name: string, path: string])[]) {
    return Promise.all(
      paths.map(async ([name, path]) => {
        const page = await on.context.newPage()
        await page.goto(path)
        const heading = page.getByRole('heading', { level: 1 })
        await heading.waitFor()
        await expect.poll(() => page.getByRole('status', { name: /^Loading/ }).count(), { message: name }).toBe(0)
        await page.evaluate(() => Object.assign(window, { isTheSame: true }))
        return { name, page, title: await heading.textContent() }
      }),
    )
  }

  it('has each page as it was, without a reload', async () => {
    const {
      'not-found': _none,
      reference: _public,
      ...pages
    } = pagesOf(await fill(on.server)) as Record<string, string>
    const paths = Object.entries(pages)
    const settings = { ...LOCAL_WEBHOOKS, port: Number(new URL(on.server.url).port) }
    let server = on.server
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      const open = await openAll(paths.slice(at, at + AT_ONCE))
      server = await server.restart({
        settings,
        meanwhile: async () => {
          for (const { page, name } of open) {
            await isAway(page).waitFor()
            expect(await menu(page).getByRole('link').count(), name).toBe(12)
            expect(await page.getByText('Something went wrong on this page').count(), name).toBe(0)
          }
        },
      })
      for (const { page, name, title } of open) {
        await expect.poll(() => isAway(page).count(), { message: name }).toBe(0)
        await expect.poll(() => page.getByRole('alert').count(), { message: name }).toBe(0)
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
        expect(await page.evaluate(() => 'isTheSame' in window), name).toBe(true)
        await page.close()
      }
    }
    await on.page.close()
    await server.stop()
  })
})

describe('a server that was updated', () => {
  const on = stage()

  /** From the next load of the window, the page of keys has a different file. */
  async function update(isComplete: boolean): Promise<{ readonly loads: () => number }> {
    let loads = 0
    const served = new Map<string, string>()
    await on.page.route('**/*', async (route) => {
      const path = new URL(route.request().url()).pathname
      if (route.request().resourceType() === 'document') loads += 1
      if (/\/keys-page-[^.]*\.js$/.test(path)) {
        served.set('old', path)
        return route.fulfill({ status: 404, body: '' })
      }
      if (path.endsWith('/keys-new.js') && isComplete)
        return route.fulfill({ response: await route.fetch({ url: on.server.url + (served.get('old') as string) }) })
      if (/\/index-[^.]*\.js$/.test(path) && isComplete) {
        const text = await (await route.fetch()).text()
        return route.fulfill({
          contentType: 'text/javascript',
          body: text.replace(/keys-page-[^.]*\.js/g, 'keys-new.js'),
        })
      }
      return route.continue()
    })
    return { loads: () => loads }
  }

  it('is loaded again, once, and shows the page', async () => {
    await on.open('/get-started')
    const { loads } = await update(true)
    await menu(on.page).getByRole('link', { name: 'API keys' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    expect(loads()).toBe(1)
    await on.page.unrouteAll()
    expect(on.complaints.splice(0).filter((one) => !one.includes('404'))).toEqual([])
  })

  it('that lacks a page says so in its place, and the others stay', async () => {
    await on.open('/get-started')
    const { loads } = await update(false)
    await menu(on.page).getByRole('link', { name: 'API keys' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Something went wrong on this page' }).waitFor()
    expect(await violationsOf(on.page)).toEqual([])
    expect(loads()).toBe(1)
    await menu(on.page).getByRole('link', { name: 'Budgets' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor()
    await on.page.unrouteAll()
    expect(on.complaints.splice(0).filter((one) => !/404|dynamically imported/.test(one))).toEqual([])
  })
})

describe('a fault of one page', () => {
  const on = stage()

  it('leaves the menu and the other pages', async () => {
    await on.page.route('**/dashboard/v1/budgets*', (route) =>
      route.fulfill({ json: { data: [null], next_cursor: null } }),
    )
    await on.open('/budgets', 'Something went wrong on this page')
    await menu(on.page).getByRole('link', { name: 'Agents' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor()
    expect(on.complaints.splice(0).filter((one) => !/null/.test(one))).toEqual([])
  })
})

/** Fills every text that a user or agent can choose with hostile strings. Pages only show them. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { decide } from '../../../server/test/api/refunds.js'
import { stage } from './support/browser.js'
import { type Filled, LOCAL_WEBHOOKS, pagesOf } from './support/fill.js'
import { fillHostile } from './support/fill-hostile.js'
import { NAUGHTY, XSS } from './support/hostile-strings.js'

const NAMES = Object.keys(pagesOf({} as Filled))

/** Elements that our pages never contain. They could only come from a text that was parsed as markup. */
const FOREIGN = [
  'iframe, object, embed, base, frame, math, marquee, video, audio',
  '[onerror], [onload], [onclick], [onmouseover], [ontoggle], [onfocus], [srcdoc]',
  'a[href^="javascript:" i], a[href^="data:" i], form[action]',
].join(', ')

/** Finds foreign elements, and elements that load from other hosts. */
function foreignIn(page: Page): Promise<string[]> {
  return page.evaluate((selector) => {
    const own = `${location.origin}/dashboard/assets/`
    const loading = [...document.querySelectorAll('script, img, link[rel=stylesheet]')].filter((one) => {
      const { src, href } = one as HTMLScriptElement & HTMLLinkElement
      return !(src ?? href).startsWith(own)
    })
    return [...document.querySelectorAll(selector), ...loading].map((one) => one.outerHTML.slice(0, 200))
  }, FOREIGN)
}

describe('hostile text', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0, ...LOCAL_WEBHOOKS } })
  let paths: Readonly<Record<string, string>>
  beforeAll(async () => {
    expect([NAUGHTY.length >= 500, XSS.length]).toEqual([true, 60])
    paths = pagesOf(await fillHostile(on.server))
  }, 120_000)

  it.each(NAMES)('is text on the page %s', async (name) => {
    on.page.on('dialog', (dialog) => {
      on.complaints.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await on.page.goto(paths[name] as string)
    await on.page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => on.page.getByRole('status', { name: /^Loading/ }).count()).toBe(0)
    expect(await on.page.evaluate(() => '__ran' in window)).toBe(false)
    expect(await foreignIn(on.page)).toEqual([])
    expect(await on.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
      0,
    )
    // Invisible characters are shown as escapes.
    const raw = await on.page
      .locator('main')
      .evaluate((main) =>
        [main.textContent, ...Array.from(main.querySelectorAll('[title]'), (one) => one.getAttribute('title'))].join(),
      )
    expect(raw).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u2028]/)
    await on.screenshot(`hostile-${name}`)
  })

  it.each([
    ['a path', (text: string) => `/agents/${encodeURIComponent(text)}`],
    ['a decision', (text: string) => `/decisions/${encodeURIComponent(text)}`],
    [
      'a filter',
      (text: string) => `/decisions?agent_id=${encodeURIComponent(text)}&effect=${encodeURIComponent(text)}`,
    ],
    ['a fragment', (text: string) => `/docs#${encodeURIComponent(text)}`],
    ['a code', (text: string) => `/sign-in#${encodeURIComponent(text)}`],
  ])('in the URL as %s runs nothing', async (_, pathOf) => {
    for (const text of XSS.filter((__, i) => i % 7 === 0)) {
      await on.page.goto(pathOf(text))
      await on.page.locator('h1, form').first().waitFor()
      expect(await on.page.evaluate(() => '__ran' in window)).toBe(false)
      expect(await foreignIn(on.page)).toEqual([])
    }
    // No response arrives after this.
    await on.page.goto('about:blank')
    // A missing object responds with 404 or 400.
    expect(on.complaints.splice(0).filter((one) => !/status of 40[014]/.test(one))).toEqual([])
  })

  it.each([
    ['decisions', '/decisions?agent_id=agent:hidden'],
    ['agent', '/agents/agent:hidden'],
  ])('is shown whole in a row of the page %s', async (_, path) => {
    await decide(on.server, { agent_id: 'agent:hidden', action: 'file.read', resource: 'file:\u3164a' })
    await on.page.goto(path)
    await on.page.getByText('file:\\u3164a').first().waitFor()
    expect(await on.page.locator('[title*="\u3164"]').count()).toBe(0)
  })
})

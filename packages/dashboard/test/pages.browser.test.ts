/** Checks every page in light, in dark and on a narrow screen with axe, for overflow, and for console errors. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { stage } from './support/browser.js'
import { type Filled, fill, LOCAL_WEBHOOKS, pagesOf } from './support/fill.js'

/** Matches a token: two parts of JSON, and a signature. */
const PERMIT = /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\./

const NAMES = Object.keys(pagesOf({} as Filled))

/** Finds controls that are too small for a finger, and texts that are wider than their container. */
function faultsOf(page: Page): Promise<string[]> {
  return page.evaluate((finger) => {
    const nameOf = (one: Element) => `${one.tagName} ${(one.ariaLabel ?? one.textContent ?? '').slice(0, 60)}`
    const shown = [...document.querySelectorAll<HTMLElement>('header *, main *')].filter((one) => one.checkVisibility())
    // A switch is clicked by its label, and the link of a row by the whole row.
    const isControl = (one: HTMLElement) =>
      one.matches('a, button, summary, textarea, input:not([type=radio], [type=checkbox]), label[class*=track]') &&
      !one.matches('[data-row-link]') &&
      getComputedStyle(one).display !== 'inline'
    const small = shown.filter(isControl).flatMap((one) => {
      const { width, height } = one.getBoundingClientRect()
      return Math.min(width, height) < finger ? [`${nameOf(one)} is ${width} by ${height} px`] : []
    })
    const spilt = shown
      .filter((one) => !one.closest('pre, .cm-editor') && one.querySelector('pre') === null)
      .filter((one) => getComputedStyle(one).overflowX === 'visible' && one.clientWidth > 0)
      .filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => `${nameOf(one)} is ${one.scrollWidth - one.clientWidth} px too wide`)
    return [...small, ...spilt]
  }, 23.5)
}

/** The contrast of placeholders, from 1 to 21: 4.5 is enough. */
function contrastOfExample(field: Element): number {
  const luminanceOf = (colour: string) => {
    const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number).map((part) => {
      const share = part / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [one, other] = [getComputedStyle(field, '::placeholder').color, getComputedStyle(field).backgroundColor]
    .map(luminanceOf)
    .sort((a, b) => b - a) as [number, number]
  return (one + 0.05) / (other + 0.05)
}

describe('a field', () => {
  const on = stage()

  it.each(['light', 'dark'] as const)(
    'has an example that can be read, and shows its focus, in the %s',
    async (scheme) => {
      await on.page.emulateMedia({ colorScheme: scheme })
      await on.open('/decisions')
      const field = on.page.getByLabel('Agent', { exact: true })
      expect(await field.evaluate(contrastOfExample)).toBeGreaterThanOrEqual(4.5)
      await field.focus()
      expect(await field.evaluate((one) => getComputedStyle(one).outlineWidth)).toBe('2px')
    },
  )
})

describe('every page', () => {
  const on = stage({ settings: LOCAL_WEBHOOKS })
  let paths: Readonly<Record<string, string>>
  beforeAll(async () => {
    paths = pagesOf(await fill(on.server))
  })

  it.each(NAMES)('%s', async (name) => {
    await on.page.goto(paths[name] as string)
    await on.page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => on.page.getByRole('status', { name: /^Loading/ }).count()).toBe(0)
    // The session's key has requested every decision, so /v1 would return the permits to it.
    const kept = await on.page.evaluate(
      () =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]) +
        document.documentElement.outerHTML,
    )
    expect(kept).not.toContain(on.server.key)
    expect(kept).not.toMatch(PERMIT)
    await on.look(name)
    await on.narrow(name)
    for (const width of [320, 1280]) {
      await on.page.setViewportSize({ width, height: 800 })
      await expect.poll(() => faultsOf(on.page), { message: `at ${width} px` }).toEqual([])
    }
  })
})

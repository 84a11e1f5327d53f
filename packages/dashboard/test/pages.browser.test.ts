/** Every page in light, in dark and on a narrow screen: what axe finds, what overflows, what the console complains of. */
import { beforeAll, describe, expect, it } from 'vitest'
import { stage } from './support/browser.js'
import { type Filled, fill, LOCAL_WEBHOOKS, pagesOf } from './support/fill.js'

/** A token: two parts of JSON, and a signature. */
const PERMIT = /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\./

const NAMES = Object.keys(pagesOf({} as Filled))

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
    // The key of the session has asked for every decision, so /v1 would show it the permits.
    const kept = await on.page.evaluate(
      () =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]) +
        document.documentElement.outerHTML,
    )
    expect(kept).not.toContain(on.server.key)
    expect(kept).not.toMatch(PERMIT)
    await on.look(name)
    await on.narrow(name)
  })
})

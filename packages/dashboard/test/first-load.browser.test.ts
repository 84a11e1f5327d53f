/** What a browser loads before it shows the first page. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { stage } from './support/browser.js'

const MOST_BYTES = 200_000

describe('the first load', () => {
  const on = stage({ isSignedOut: true })

  it('is small', async () => {
    const sizes = new Map<string, number>()
    on.page.on('response', async (answer) => {
      const { pathname } = new URL(answer.url())
      if (/\.(js|css|svg)$|^\/$/.test(pathname)) sizes.set(pathname, gzipSync(await answer.body(), { level: 9 }).length)
    })
    await on.page.goto('/')
    await on.page.getByLabel('API key').first().fill(on.server.key)
    await on.page.getByRole('button', { name: 'Sign in' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await on.page.getByRole('link', { name: 'Connect an agent' }).waitFor()
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    console.log(`first load: ${total} bytes gzip in ${sizes.size} files`)
    expect(sizes.size).toBeGreaterThan(3)
    expect(total).toBeLessThan(MOST_BYTES)
  })

  it('says on a slow network that it comes', async () => {
    await on.page.route(/\/index-[^/]*\.js$/, async (route) => {
      await on.page.getByText('Loading the dashboard …').waitFor()
      await route.continue()
    })
    await on.page.goto('/')
    await on.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await on.page.getByText('Loading the dashboard …').count()).toBe(0)
    await on.page.unrouteAll()
  })

  it('asks for nothing that is not there', async () => {
    const failed: string[] = []
    on.page.on('response', (answer) => {
      if (answer.status() >= 400) failed.push(`${answer.status()} ${answer.url()}`)
    })
    await on.page.goto('/')
    await on.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(failed).toEqual([])
  })
})

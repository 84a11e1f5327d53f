/** The pages for people, in a real browser. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from './running-server.js'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
if (executablePath === undefined)
  console.log('docs-in-browser.slow.test.ts is skipped: there is no Chromium in /usr/bin')

let server: RunningServer
let browser: Browser
beforeAll(async () => {
  if (executablePath === undefined) return
  server = await runServer()
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
})
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})

interface Seen {
  readonly page: Page
  readonly requests: string[]
  readonly complaints: string[]
}

/** Opens a page of the server in a fresh profile and notes what it asks for and what the browser complains of. */
async function open(path: string): Promise<Seen> {
  const page = await (await browser.newContext()).newPage()
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  await page.goto(`${server.url}${path}`, { waitUntil: 'networkidle' })
  return { page, requests, complaints }
}

describe.skipIf(executablePath === undefined)('in Chromium', () => {
  it.each(['/docs', '/docs/errors'])('%s asks for nothing but itself, and nothing is complained of', async (path) => {
    const { page, requests, complaints } = await open(path)
    expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([`${server.url}${path}`])
    expect(complaints).toEqual([])
    const width = await page.evaluate('getComputedStyle(document.body).maxWidth')
    expect(width, 'the style of the page is applied').toBe('960px')
  })

  it('a page that asked for more would be stopped and noticed', async () => {
    const { page, complaints } = await open('/docs')
    const refused = page.waitForEvent('requestfailed')
    await page.evaluate(`new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', resolve, { once: true })
      document.body.append(Object.assign(new Image(), { src: '/livez' }))
    })`)
    expect((await refused).failure()?.errorText).toBe('csp')
    expect(complaints.join()).toContain('Content Security Policy')
  })

  it('leads from an endpoint to what can fail there', async () => {
    const { page } = await open('/docs')
    await page.getByRole('link', { name: 'POST /v1/policies', exact: true }).click()
    expect(new URL(page.url()).hash).toBe('#policies.create')
    await page.getByRole('link', { name: 'policy_name_taken' }).first().click()
    await page.waitForURL('**/docs/errors#policy_name_taken')
    const heading = page.getByRole('heading', { name: 'policy_name_taken' })
    expect(await heading.isVisible()).toBe(true)
    expect((await heading.boundingBox())?.y).toBeLessThan(200)
  })
})

/** A real server and a real browser for tests of pages. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type RunningServer, type RunningServerOptions, runServer } from '../../../../server/test/running-server.js'
import { ALL_BUT_COLOURS, ONLY_COLOURS, violationsOf } from './axe.js'

/** The headless shell comes first because it is faster. */
const EXECUTABLES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome']
const SCREENSHOTS = fileURLToPath(new URL('../../../../screenshots', import.meta.url))

const executablePath = EXECUTABLES.find(existsSync)

/** One server and one browser for a test file, with a new page and session for each test. */
export interface Stage {
  readonly server: RunningServer
  /** The page, signed in with the first key unless `isSignedOut` is set. */
  readonly page: Page
  readonly context: BrowserContext
  /** Requests to other hosts, and console errors. Each test must end without any. */
  readonly complaints: string[]
  /** Opens a page by its path and waits for its heading. */
  open(path: string, title?: string): Promise<void>
  /** Opens a separate window, signed in with this key. */
  another(key: string, options?: BrowserContextOptions): Promise<Page>
  /** Writes a screenshot to the ignored folder `screenshots`. */
  screenshot(name: string): Promise<void>
  /**
   * Takes screenshots in light and in dark, and expects no violations from axe in either.
   *
   * @param within the elements that axe looks at, as a CSS selector; the whole page when absent
   */
  look(name: string, within?: string): Promise<void>
  /** The same for a window of 320 px, in which nothing may scroll sideways. */
  narrow(name: string, within?: string): Promise<void>
}

export interface StageOptions extends RunningServerOptions {
  readonly isSignedOut?: boolean
}

/** Without these, the processor would emulate a graphics card. */
const FLAGS = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-software-rasterizer']

const VIEWPORT = { width: 1280, height: 800 }

/** Call it in a `describe`. */
export function stage(options: StageOptions = {}): Stage {
  let server: RunningServer
  let browser: Browser
  let context: BrowserContext
  let page: Page
  const complaints: string[] = []
  beforeAll(async () => {
    server = await runServer({ ...options, clock: options.clock ?? systemTime() })
    browser = await launchBrowser()
    context = await newContext()
  })
  beforeEach(async () => {
    complaints.length = 0
    page = await watched(context)
    if (!options.isSignedOut) await signIn(context, server, server.key)
  })
  afterEach(async () => {
    // The context stays for its cache; the storage of its pages is cleared.
    for (const one of context.pages()) {
      if (one.url().startsWith(server.url)) await one.evaluate(() => localStorage.clear())
      await one.close()
    }
    await context.clearCookies()
    expect(complaints).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    return browser.newContext({
      colorScheme: 'light',
      viewport: VIEWPORT,
      baseURL: server.url,
      reducedMotion: 'reduce',
      ...options,
    })
  }

  async function watched(of: BrowserContext): Promise<Page> {
    const made = await of.newPage()
    made.setDefaultTimeout(15_000)
    made.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(server.url) && !/^(data|blob):/.test(url)) complaints.push(`request to ${url}`)
    })
    made.on('pageerror', (error) => complaints.push(error.message))
    made.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
    })
    return made
  }

  return {
    get server() {
      return server
    },
    get page() {
      return page
    },
    get context() {
      return context
    },
    complaints,
    async open(path, title) {
      await page.goto(path)
      const heading = page.getByRole('heading', { level: 1, ...(title !== undefined && { name: title }) })
      await heading.waitFor()
    },
    async another(key, options) {
      const other = await newContext(options)
      await signIn(other, server, key)
      return watched(other)
    },
    screenshot,
    async look(name, within) {
      await screenshot(`${name}-light`)
      expect(await violationsOf(page, {}, within), 'in light').toEqual([])
      await page.emulateMedia({ colorScheme: 'dark' })
      await screenshot(`${name}-dark`)
      expect(await violationsOf(page, ONLY_COLOURS, within), 'in dark').toEqual([])
      await page.emulateMedia({ colorScheme: 'light' })
    },
    async narrow(name, within) {
      await page.setViewportSize({ width: 320, height: 700 })
      await screenshot(`${name}-narrow`)
      const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      await expect.poll(overflow).toBeLessThanOrEqual(0)
      expect(await violationsOf(page, ALL_BUT_COLOURS, within), 'in a narrow window').toEqual([])
      await page.setViewportSize(VIEWPORT)
    },
  }

  async function screenshot(name: string): Promise<void> {
    await mkdir(SCREENSHOTS, { recursive: true })
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: 'disabled' })
  }
}

/** @param flags additional flags of the browser */
export function launchBrowser(...flags: readonly string[]): Promise<Browser> {
  if (executablePath === undefined) throw new Error('These tests need the Debian package chromium-headless-shell.')
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] })
}

/** Signs a context in as its pages do, with a request of the same origin. */
export async function signIn(context: BrowserContext, server: RunningServer, key: string): Promise<void> {
  const answer = await context.request.post(`${server.url}/dashboard/session`, {
    data: { key },
    headers: { Origin: server.url },
  })
  expect(answer.status()).toBe(201)
}

/** A server clock that equals the browser's, because pages show relative times. */
function systemTime(): NonNullable<RunningServerOptions['clock']> {
  const real = {
    now: () => new Date(),
    advance: () => {},
    startFrom: () => {},
    jump: () => null,
    confirm: () => {},
    set: () => {},
  }
  return real as unknown as NonNullable<RunningServerOptions['clock']>
}

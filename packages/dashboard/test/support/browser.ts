/** A real server and a real browser for the tests of pages. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type RunningServer, type RunningServerOptions, runServer } from '../../../../server/test/running-server.js'

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const SCREENSHOTS = fileURLToPath(new URL('../../../../screenshots', import.meta.url))

const executablePath = EXECUTABLES.find(existsSync)

/** What a test of pages works with. The server is one for a file, the window a fresh one for each test. */
export interface Stage {
  readonly server: RunningServer
  /** Signed in with the first key, unless the options say otherwise. */
  readonly page: Page
  readonly context: BrowserContext
  /** Requests to other hosts, and what the console complained of: none, at the end of each test. */
  readonly complaints: string[]
  /** Opens a page by its path, and waits for its title. */
  open(path: string, title?: string): Promise<void>
  /** A window of its own, signed in with this key. */
  another(key: string): Promise<Page>
  /** Writes a picture of the page to the ignored folder `screenshots`. */
  screenshot(name: string): Promise<void>
}

export interface StageOptions extends RunningServerOptions {
  readonly isSignedOut?: boolean
  readonly colorScheme?: 'light' | 'dark'
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** Nothing here needs a graphics card, which the processors would stand in for. */
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
    if (executablePath === undefined) throw new Error('These tests need Chromium in /usr/bin.')
    server = await runServer({ ...options, clock: options.clock ?? systemTime() })
    browser = await chromium.launch({ executablePath, args: FLAGS })
  })
  beforeEach(async () => {
    complaints.length = 0
    context = await newContext()
    page = await watched(context)
    if (!options.isSignedOut) await signIn(context, server, server.key)
  })
  afterEach(async () => {
    await context.close()
    expect(complaints).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  function newContext(): Promise<BrowserContext> {
    const { colorScheme = 'light', viewport = VIEWPORT } = options
    return browser.newContext({ colorScheme, viewport: { ...viewport }, baseURL: server.url, reducedMotion: 'reduce' })
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
    async another(key) {
      const other = await newContext()
      await signIn(other, server, key)
      return watched(other)
    },
    async screenshot(name) {
      await mkdir(SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), animations: 'disabled' })
    },
  }
}

/** Signs a context in as its pages do: with a request of the same origin. */
export async function signIn(context: BrowserContext, server: RunningServer, key: string): Promise<void> {
  const answer = await context.request.post(`${server.url}/dashboard/session`, {
    data: { key },
    headers: { Origin: server.url },
  })
  expect(answer.status()).toBe(201)
}

/** Pages show times relative to the clock of the browser, so the server has the same one. */
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

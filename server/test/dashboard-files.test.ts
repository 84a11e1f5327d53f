/** The dashboard as a browser loads it, and what its pages may load. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw } from './api/browser-session.js'
import { type RunningServer, runServer } from './running-server.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer()
})
afterAll(() => server.stop())

const read = (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init)
const HTML = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }

/** The paths of the scripts and styles that the page names. */
async function assets(): Promise<string[]> {
  const text = await (await read('/')).text()
  return [...text.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path as string)
}

describe('a page', () => {
  it.each(['/', '/decisions', '/policies/pol_x', '/agents/agent%3Aa%2Fb', '/sign-in', '/docs', '/nothing-like-it'])(
    '%s is the dashboard, for a browser that opens it',
    async (path) => {
      const answer = await read(path, HTML)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('Cache-Control')).toBe('no-store')
      expect(await answer.text()).toContain('<div id="root">')
    },
  )

  it('is there for everything else only at its root and its reference', async () => {
    const paths = ['/', '/docs', '/decisions']
    const answers = await Promise.all(paths.map((path) => read(path, { headers: { Accept: '*/*' } })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404])
  })

  it.each(['/v1/nothing', '/dashboard/v1/nothing', '/dashboard/nothing', '/dashboard/assets/nothing.js'])(
    'is not at %s',
    async (path) => {
      const answer = await read(path, HTML)
      expect([401, 404]).toContain(answer.status)
      expect(answer.headers.get('Content-Type')).toBe('application/problem+json')
    },
  )

  it('is not an answer to a POST', async () => {
    expect((await read('/decisions', { ...HTML, method: 'POST' })).status).toBe(404)
  })

  it('may run scripts of this server alone, and has styles by the nonce of its answer', async () => {
    const [one, other] = await Promise.all([read('/'), read('/')])
    const policies = [one, other].map((answer) => answer.headers.get('Content-Security-Policy') as string)
    const [nonce, next] = policies.map((policy) => /'nonce-([^']+)'/.exec(policy)?.[1] as string)
    expect(nonce).not.toBe(next)
    expect(policies[0]).toBe(
      `default-src 'none';script-src 'self';style-src 'self' 'nonce-${nonce}';img-src 'self' data:;font-src 'self';connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'`,
    )
    const text = await one.text()
    expect(text).toContain(`nonce="${nonce}"`)
    expect(text).not.toContain('__CSP_NONCE__')
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|javascript:|\son\w+=|\sstyle=|https?:/i)
  })
})

describe('a file of the dashboard', () => {
  it('is kept for good, for its name changes with its content', async () => {
    const paths = await assets()
    expect(paths.length).toBeGreaterThan(1)
    for (const path of paths) {
      const answer = await read(path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable')
      expect(path).toMatch(/-[\w-]{8,}\.\w+$/)
    }
  })

  it('is one of the build for production, whatever the environment of the build', async () => {
    const scripts = (await assets()).filter((path) => path.endsWith('.js'))
    const texts = await Promise.all(scripts.map(async (path) => (await read(path)).text()))
    expect(texts.join('')).not.toContain('react.dev/link/hooks-data-fetching')
  })

  it('is compressed for those who take it so', async () => {
    const script = (await assets()).find((path) => path.endsWith('.js')) as string
    const plain = await read(script, { headers: { 'Accept-Encoding': 'identity' } })
    expect([plain.headers.get('Content-Encoding'), plain.headers.get('Vary')]).toEqual([null, 'Accept-Encoding'])
    const zipped = await sendRaw(server, 'GET', script, { headers: { 'Accept-Encoding': 'gzip' } })
    expect(zipped.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
    })
    expect(Number(zipped.headers['content-length'])).toBeLessThan(Number(plain.headers.get('Content-Length')) / 2)
  })

  it.each([
    '/dashboard/assets/../../index.html',
    '/dashboard/assets/..%2f..%2findex.html',
    '/dashboard/assets/%2e%2e/%2e%2e/package.json',
    '/dashboard/assets/',
    '/dashboard/assets',
    '/index.html',
    '/dashboard/index.html',
    '/package.json',
  ])('is found by its exact path alone: %s is none', async (path) => {
    expect((await sendRaw(server, 'GET', path)).status).toBe(404)
  })
})

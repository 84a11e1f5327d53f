/** What a person sees who starts the server on a terminal, and that it works when it is pasted. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fromOwnPage, sendRaw } from '../api/browser-session.js'
import { call } from './call.js'
import { endChildren } from './child.js'
import { MAIN, newDirectory, removeDirectories } from './shipped-server.js'
import { Terminal } from './terminal.js'

const KEY = /cs_sk_[0-9A-Za-z]{49}/g

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Starts the server as a person does who stands in a folder. */
async function serveIn(folder: string, env: Record<string, string> = {}) {
  const terminal = new Terminal(`${process.execPath} ${MAIN} serve`, { cwd: folder, env: { PORT: '0', ...env } })
  await terminal.says(/-d '.*\r\n/)
  const [, url = ''] = /API +(\S+)/.exec(terminal.screen) ?? []
  return { terminal, url }
}

/** Runs the command that stands on the screen, as it stands there. */
function pasteCurl(screen: string, folder: string) {
  const command = /^ *curl (.*\\\n)*.*\n/m.exec(screen)?.[0] ?? ''
  return JSON.parse(execFileSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' }))
}

describe('serve on a terminal', () => {
  it('shows a newcomer all there is to know, and the first key once', async () => {
    const folder = newDirectory()
    const { terminal, url } = await serveIn(folder)
    const { screen } = terminal
    expect(screen).toMatch(/ready in \d+\.\d s/)
    expect(screen).toContain(`Store      embedded, ${join(folder, 'data')}`)
    expect(screen).toContain('0 policies, so every request is denied')
    expect(screen).not.toContain('{"level"')
    const keyPath = join(folder, 'data', 'bootstrap-key')
    const key = readFileSync(keyPath, 'utf8').trim()
    expect(new Set(screen.match(KEY))).toEqual(new Set([key]))
    expect(screen).toContain(keyPath)
    expect(statSync(keyPath).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700)

    expect(pasteCurl(screen, folder)).toMatchObject({ effect: 'deny', reason_code: 'no_matching_policy' })
    const rules = [{ action: 'payment.refund', effect: 'allow' }]
    expect((await call(url, 'POST', '/v1/policies', { key, body: { name: 'refunds', rules } })).status).toBe(201)
    expect(pasteCurl(screen, folder)).toMatchObject({ effect: 'allow', status: 'authorized' })

    terminal.pressCtrlC()
    expect(await terminal.end()).toEqual({ code: 0, signal: null })
  })

  it('shows a link that signs a browser in, once', async () => {
    const { terminal, url } = await serveIn(newDirectory())
    const [, link = ''] = /Dashboard +(\S+)/.exec(terminal.screen) ?? []
    expect(link).toMatch(new RegExp(`^${url}/sign-in#[\\w-]{43}$`))
    const body = { code: link.split('#')[1] }
    const signIn = () => sendRaw({ url }, 'POST', '/dashboard/session', { body, headers: fromOwnPage({ url }) })
    expect((await signIn()).body).toMatchObject({ key: { name: 'bootstrap', scopes: ['*'] } })
    expect((await signIn()).status).toBe(401)
  })

  it('does not show the key again, and its curl still works', async () => {
    const folder = newDirectory()
    const first = (await serveIn(folder, { DATA_DIR: "it's data" })).terminal
    first.pressCtrlC()
    await first.end()
    const { terminal } = await serveIn(folder, { DATA_DIR: "it's data" })
    expect(terminal.screen).not.toMatch(KEY)
    expect(pasteCurl(terminal.screen, folder)).toMatchObject({ effect: 'deny' })
  })

  it('shows no key that the operator chose, and leaves no file; the curl takes it from the environment', async () => {
    const folder = newDirectory()
    const env = { COUNTERSIGN_BOOTSTRAP_KEY: 'a-$key-of-"the\'operator-`of`-40-characters' }
    const { terminal } = await serveIn(folder, env)
    expect(terminal.screen).not.toContain(env.COUNTERSIGN_BOOTSTRAP_KEY)
    expect(terminal.screen).not.toMatch(KEY)
    expect(existsSync(join(folder, 'data', 'bootstrap-key'))).toBe(false)
    expect(terminal.screen).toContain('$COUNTERSIGN_API_KEY')
    process.env.COUNTERSIGN_API_KEY = env.COUNTERSIGN_BOOTSTRAP_KEY
    try {
      expect(pasteCurl(terminal.screen, folder)).toMatchObject({ effect: 'deny' })
    } finally {
      delete process.env.COUNTERSIGN_API_KEY
    }
  })

  it('tells a person what is wrong in words', async () => {
    const terminal = new Terminal(`${process.execPath} ${MAIN} serve`, { env: { PORT: 'many', HOST: '0.0.0.0' } })
    expect((await terminal.end()).code).toBe(78)
    expect(terminal.screen).toMatch(/^The configuration is not valid:\n {2}- .*\n {2}- .*\n$/)
  })
})

/** `npm run demo` as somebody starts it: what the dashboard finds in it, and how it ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const DEMO = fileURLToPath(new URL('demo.mjs', import.meta.url))

let dataDir: string
let children: ChildProcess[]

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'demo-'))
  children = []
})

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(dataDir, { recursive: true, force: true })
})

/** Settings of its caller that must not reach the demo are among the environment. */
function startDemo(port: number) {
  const child = spawn(process.execPath, [DEMO], {
    env: {
      ...process.env,
      PORT: String(port),
      DEMO_DATA_DIR: dataDir,
      DATA_DIR: '/nowhere',
      HOST: '0.0.0.0',
      MONGODB_URL: 'mongodb://nobody.example',
      COUNTERSIGN_BOOTSTRAP_KEY: 'short',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  child.stdout.resume()
  const ended = once(child, 'close')
  return {
    child,
    errors: () => errors,
    code: async () => (await ended)[0] as number | null,
    set: () => expect.poll(() => errors, { timeout: 50_000 }).toContain('work until you stop it'),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever JSON came
async function read(port: number, path: string): Promise<any> {
  const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
  const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, { headers: { Authorization: `Bearer ${key}` } })
  expect(answer.status).toBe(200)
  return answer.json()
}

describe('npm run demo', () => {
  it('sets a company up, lets it work, and ends with the server', async () => {
    const port = await freePort()
    const demo = startDemo(port)
    await demo.set()

    const { data: policies } = await read(port, '/policies')
    expect(policies.length).toBeGreaterThan(5)
    expect(policies.flatMap(({ warnings }: { warnings: object[] }) => warnings)).toEqual([])
    expect(policies.filter(({ mode }: { mode: string }) => mode === 'shadow')).toHaveLength(1)

    const { data: agents } = await read(port, '/agents')
    const ids = (which: (agent: { registered: boolean; suspended: object | null }) => boolean) =>
      agents.filter(which).map(({ id }: { id: string }) => id)
    expect(ids(({ registered }) => registered).length).toBeGreaterThan(4)
    expect(ids(({ registered }) => !registered)).toContain('agent:deploy-4')
    expect(ids(({ suspended }) => suspended !== null)).toEqual(['agent:scraper-5'])

    const { data: accounts } = await read(port, '/budgets')
    const used = accounts.map(
      ({ spent, reserved, limit }: { spent: number; reserved: number; limit: number }) => (spent + reserved) / limit,
    )
    expect(Math.max(...used)).toBeGreaterThan(0.8)

    const waiting = async () => (await read(port, '/decisions?status=awaiting_review')).data
    const first = (await waiting()).map(({ id }: { id: string }) => id).slice(-2)
    expect(first).toHaveLength(2)

    const outcomes = async () => {
      const { data } = await read(port, '/decisions?limit=200')
      return new Set(data.flatMap(({ effect, status }: Record<string, string>) => [effect, status]))
    }
    await expect
      .poll(async () => [...(await outcomes())], { timeout: 50_000, interval: 500 })
      .toEqual(expect.arrayContaining(['allow', 'deny', 'review', 'confirmed']))
    // Nobody of the demo answers these.
    expect((await waiting()).map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(first))

    demo.child.kill('SIGTERM')
    expect(await demo.code()).toBe(0)
    expect(demo.errors()).not.toMatch(/warning|error/i)
  }, 150_000)

  it('starts from nothing each time, and not while it runs', async () => {
    const port = await freePort()
    const demo = startDemo(port)
    await demo.set()
    const left = join(dataDir, 'left-over')
    writeFileSync(left, '')

    const second = startDemo(await freePort())
    expect(await second.code()).toBe(1)
    expect(second.errors()).toContain('The demo runs already.')
    expect(existsSync(left)).toBe(true)

    demo.child.kill('SIGINT')
    expect(await demo.code()).toBe(0)
    const third = startDemo(port)
    await third.set()
    expect(existsSync(left)).toBe(false)
    third.child.kill('SIGINT')
    expect(await third.code()).toBe(0)
  }, 150_000)

  it('empties no other directory', async () => {
    writeFileSync(join(dataDir, 'countersign.db'), 'precious')
    const demo = startDemo(await freePort())
    expect(await demo.code()).toBe(1)
    expect(demo.errors()).toContain('has other data than those of the demo')
    expect(readFileSync(join(dataDir, 'countersign.db'), 'utf8')).toBe('precious')
  }, 60_000)

  it('ends when the port is in use, and asks nothing of who has it', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const demo = startDemo((holder.address() as { port: number }).port)
    expect(await demo.code()).toBe(1)
    expect(demo.errors()).toContain('is in use')
    holder.close()
  }, 60_000)
})

/** Time comes from the system clock and from nothing else, but for the entry that only tests have. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { startReceiver } from '../feed/webhooks/receiver.js'
import { endChildren } from './child.js'
import { startDriven } from './driven-server.js'
import { countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** What a server runs of ours and keeps state in. */
const SHIPPED = join(ROOT, 'server', 'dist')
const asked = { agent_id: 'agent:a', action: 'payment.refund' }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ELSEWHEN = '2030-01-02T03:04:05.678Z'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** The shipped server on a machine whose clock is off. */
function startOff(dataDir: string, offMs: number): Promise<ShippedServer> {
  const args = ['--import', new URL('set-clock.mjs', import.meta.url).href, MAIN, 'serve']
  return ShippedServer.start({
    dataDir,
    program: { command: process.execPath, args },
    env: { CLOCK_OFF_MS: String(offMs) },
  })
}

describe('the driven server', () => {
  it('lives in the time that it is told, in a process of its own that can be killed', async () => {
    const dataDir = newDirectory()
    const first = await startDriven({ dataDir })
    const policy = { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'allow' }] }
    await first.call('POST', '/v1/policies', { body: policy })
    const decision = (await first.call('POST', '/v1/decisions', { body: asked })).body
    expect(decision).toMatchObject({ effect: 'allow', evaluated_at: '2026-11-21T10:00:00.000Z' })
    await first.setTime(new Date('2026-11-21T10:04:59.999Z'))
    expect((await first.call('GET', `/v1/decisions/${decision.id}`)).body).toMatchObject({ status: 'authorized' })
    expect(await first.kill()).toEqual({ code: null, signal: 'SIGKILL' })

    const second = await startDriven({ dataDir })
    await second.setTime(new Date('2026-11-21T10:05:00.000Z'))
    expect((await second.call('GET', `/v1/decisions/${decision.id}`)).body).toMatchObject({ status: 'expired' })
    expect(await second.stop()).toEqual({ code: 0, signal: null })
  })

  it('is no part of what is shipped', () => {
    const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--workspace', 'server'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const paths = JSON.parse(packed)[0].files.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(expect.arrayContaining(['bin/countersign.js', 'dist/command/main.js']))
    expect(paths.filter((path: string) => path.includes('driven') || path.startsWith('test/'))).toEqual([])
  })
})

describe('the shipped server', () => {
  it('takes no time from its environment, from its parent process or from a request', async () => {
    const names = ['TIME', 'NOW', 'CLOCK', 'FAKE_TIME', 'TEST_TIME', 'SOURCE_DATE_EPOCH', 'FAKETIME']
    const all = names.flatMap((name) => [name, `COUNTERSIGN_${name}`])
    const env = { ...Object.fromEntries(all.map((name) => [name, ELSEWHEN])), NODE_ENV: 'test', COUNTERSIGN_TEST: '1' }
    const server = await ShippedServer.start({ dataDir: newDirectory(), env, ipc: true })
    for (const name of ['set_time', 'time', 'now', 'clock']) server.process.send({ [name]: ELSEWHEN })
    const headers = { Date: new Date(ELSEWHEN).toUTCString(), 'X-Time': ELSEWHEN }
    const earliest = new Date().toISOString()
    const { body } = await server.call('POST', '/v1/decisions', { body: asked, headers })
    expect(body.evaluated_at >= earliest && body.evaluated_at <= new Date().toISOString()).toBe(true)
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  })

  it('started again with the clock a month back goes on from its newest entry, and says so', async () => {
    const dataDir = newDirectory()
    const first = await startOff(dataDir, 0)
    const budget = { limit: 100, unit: 'EUR', period: 'monthly' }
    const rules = [{ action: 'payment.refund', effect: 'allow' }]
    await first.call('POST', '/v1/policies', { body: { name: 'refunds', rules, budget } })
    const pay = { ...asked, context: { amount: 100, currency: 'EUR' } }
    const paid = (await first.call('POST', '/v1/decisions', { body: pay })).body
    expect(paid.effect).toBe('allow')
    await first.kill()

    const second = await startOff(dataDir, -31 * DAY_MS)
    const newest = (await second.call('GET', '/v1/audit?limit=1')).body.data[0].at
    const warning = second.lines.find(({ msg }) => String(msg).startsWith('the system clock is behind'))
    expect(warning).toMatchObject({ level: 'warn', newest_entry: newest, system_clock: expect.any(String) })
    expect(Date.parse(newest) - Date.parse(String(warning?.system_clock))).toBeGreaterThan(30 * DAY_MS)

    const refused = (await second.call('POST', '/v1/decisions', { body: pay })).body
    expect(refused).toMatchObject({ effect: 'deny', reason_code: 'budget_exceeded' })
    expect(refused.evaluated_at >= paid.evaluated_at).toBe(true)
    const entries: AuditEntry[] = (await second.call('GET', '/v1/audit?limit=200')).body.data
    const times = entries.sort((a, b) => a.index - b.index).map(({ at }) => at)
    expect(times).toEqual([...times].sort())
    expect(new Set(entries.map(({ log }) => log)).size).toBe(1)
    await second.stop()
  })

  it('does not follow a clock that jumps ahead, until the operator confirms it', async () => {
    const dataDir = newDirectory()
    const confirm = () => countersign(['clock', 'confirm'], { env: { DATA_DIR: dataDir } })
    // An hour behind, and then right: the age of the order, which is a file, is true.
    const server = await startOff(dataDir, -HOUR_MS)
    const idle = confirm()
    expect((await idle.end()).code).toBe(1)
    expect(idle.stderr).toContain('The server already follows the system clock.')

    const ready = async () => (await server.call('GET', '/readyz')).status
    const aheadMs = async () => {
      const { body } = await server.call('POST', '/v1/decisions', { body: asked })
      return Date.parse(body.evaluated_at) - Date.now()
    }
    expect(await ready()).toBe(200)
    server.signal('SIGUSR2')
    await until('it notices', async () => (await ready()) === 503 || undefined)
    expect(await aheadMs()).toBeLessThan(-0.5 * HOUR_MS)
    await server.says(/the system clock jumped ahead, and the server does not follow it/)

    const confirmed = confirm()
    await confirmed.end()
    expect(confirmed.stdout).toBe('The server follows the system clock again.\n')
    expect(await ready()).toBe(200)
    expect(await aheadMs()).toBeGreaterThan(-0.5 * HOUR_MS)
    await server.stop()
  })

  it('sends webhooks in the time that it follows, also when the machine is behind', async () => {
    const receiver = await startReceiver()
    const dataDir = newDirectory()
    const ahead = await startOff(dataDir, 2 * HOUR_MS)
    await ahead.call('POST', '/v1/policies', { body: { name: 'refunds', rules: [{ action: '*', effect: 'allow' }] } })
    await ahead.stop()
    const server = await ShippedServer.start({ dataDir, env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
    const { id } = (await server.call('POST', '/v1/webhooks', { body: { url: receiver.url } })).body
    await server.call('POST', `/v1/webhooks/${id}/test`)
    await server.call('POST', '/v1/decisions', { body: asked })
    await until('both events', async () => (receiver.received.length === 2 ? true : undefined))
    await server.stop()
    await receiver.close()
  })

  it('knows no argument for it', async () => {
    const env = { PORT: '0', DATA_DIR: newDirectory() }
    const named = ['--time', '--now', '--clock'].map((name) => ({ name, child: countersign(['serve', name], { env }) }))
    for (const { name, child } of named) {
      expect((await child.end()).code).not.toBe(0)
      expect(child.stderr).toContain(`unknown option '${name}'`)
    }
  })

  it('asks the system clock in one place, and listens to no parent process', () => {
    const built = readdirSync(SHIPPED, { recursive: true, encoding: 'utf8' })
      // The pages of the dashboard run in a browser, and the bundle of the command is made of the rest.
      .filter((path) => path.endsWith('.js') && !/^(dashboard|command)\//.test(path))
      .map((path) => ({ name: path, text: readFileSync(join(SHIPPED, path), 'utf8') }))
    const having = (pattern: RegExp) => built.filter(({ text }) => pattern.test(text)).map(({ name }) => name)
    expect(having(/\bDate\.now\b|\bnew Date\(\)|\bhrtime\b/).sort()).toEqual([
      // The age of a command that the operator left.
      'adapters/admin-command-spool/spool.js',
      'adapters/system-clock.js',
      // Whether a permit is in force for its verifier.
      'cli/audit/verify-proof.js',
      // The last words of a command that fails, and warnings beside its result.
      'cli/exit.js',
      // The time of sending, in what `listen` signs.
      'cli/live/listen.js',
      // How old something is that nobody's clock may make younger: what a server that was frozen knows.
      'concurrency/moment.js',
      // The age of a tombstone, which keeps out what another process began a minute ago at most.
      'stores/mongodb/collections/fences.js',
      // Which keys are over when the data move: no server runs then.
      'stores/mongodb/collections/keys.js',
      // A store that nobody gives a clock: the server does.
      'stores/mongodb/open.js',
    ])
    expect(having(/\bsystemClock\([^)]/)).toEqual([])
    // Commands read files from their standard input.
    expect(having(/process\.on(ce)?\(['"]message|process\.channel|process\.stdin/)).toEqual(['cli/audit/input.js'])
    expect(having(/process\.env/).filter((path) => !path.startsWith('cli/'))).toEqual([])
  })
})

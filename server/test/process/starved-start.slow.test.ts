/** A start on a machine whose disk is starved: it waits for its first write, says so, and goes on by itself. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { Child, endChildren } from './child.js'
import { MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const HELD_COMMITS = fileURLToPath(new URL('./held-commits.mjs', import.meta.url))
const HELD_FSYNC = fileURLToPath(new URL('./held-fsync.mjs', import.meta.url))
const CREATE = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
/** How long a decision waits for the store at most, once the server is ready, and how often a start says that it waits. */
const WAIT_MS = 50

let heldWhile: string
let dataDir: string
let port: number
beforeEach(async () => {
  heldWhile = join(newDirectory(), 'held')
  dataDir = newDirectory()
  writeFileSync(heldWhile, '')
  port = await freePort()
})
afterEach(async () => {
  await endChildren()
  removeDirectories()
})

function starved(args: readonly string[], env: Record<string, string> = {}): Child {
  return new Child(process.execPath, ['--import', HELD_COMMITS, ...args], {
    env: { PORT: String(port), DATA_DIR: dataDir, HELD_WHILE: heldWhile, WAIT_MS: String(WAIT_MS), ...env },
  })
}
const isReached = () => until('the first write', () => existsSync(`${heldWhile}.reached`) || undefined)
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** A line that says that it waits, when it has done so for longer than any caller would; with a reason where it is to have one. */
function lateReport(text: () => string, hasReason = false) {
  return until('it to say several times that it waits', () => {
    const reports = linesOf(text()).filter(({ waited_s }) => waited_s !== undefined)
    const last = reports.length > 3 ? reports.at(-1) : undefined
    return hasReason && last?.reason === undefined ? undefined : last
  })
}

it('serve waits and says so, answers that it is not ready, and becomes ready when the write succeeds', async () => {
  const server = starved([MAIN, 'serve'])
  const report = await lateReport(() => server.stdout)
  expect(report).toMatchObject({ level: 'warn', waiting_for: 'the first write to the store' })
  expect(report.msg).toMatch(
    /^the server is not ready yet: it waits for the first write to the store, for \d+ s so far/,
  )
  expect(report.msg).toContain(`Check the disk of DATA_DIR ${dataDir}`)
  const url = `http://127.0.0.1:${port}`
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  expect((await fetch(`${url}/readyz`)).status).toBe(503)
  const early = await call(url, 'POST', '/v1/decisions', { key: 'any', body: {} })
  expect([early.status, early.body.code, early.headers.get('retry-after')]).toEqual([503, 'store_unavailable', '1'])

  rmSync(heldWhile)
  await server.says(/"url":"([^"]+)".*\n/)
  const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
  expect((await listAll(url, '/v1/keys', key)).map(({ name }) => name)).toEqual(['bootstrap'])
  server.signal('SIGTERM')
  expect(await server.end()).toEqual({ code: 0, signal: null })
  expect(server.stderr).toBe('')
})

it('serve answers while the disk keeps it from opening its store, and can be stopped', async () => {
  await (await ShippedServer.start({ dataDir })).stop()
  const start = () =>
    new Child(process.execPath, ['--import', HELD_FSYNC, MAIN, 'serve'], {
      env: { PORT: String(port), DATA_DIR: dataDir, HELD_WHILE: heldWhile },
    })
  const stopped = start()
  await isReached()
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200)
  stopped.signal('SIGTERM')
  expect(await stopped.end()).toEqual({ code: 0, signal: null })
  rmSync(`${heldWhile}.reached`)

  const server = start()
  await isReached()
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  expect([await status('/livez'), await status('/readyz')]).toEqual([200, 503])
  rmSync(heldWhile)
  await server.says(/"url":"([^"]+)".*\n/)
  expect(await status('/readyz')).toBe(200)
})

it('serve ends well when it is stopped while it waits, and the next start makes whole what was begun', async () => {
  const server = starved([MAIN, 'serve'])
  await isReached()
  server.signal('SIGTERM')
  expect(await server.end()).toEqual({ code: 0, signal: null })
  expect(server.stderr).toBe('')
  // A line that says that it waits may be written by another thread at the same time, and come last.
  expect(linesOf(server.stdout)).toContainEqual(
    expect.objectContaining({ level: 'info', msg: expect.stringContaining('before the server was ready') }),
  )
  const next = await ShippedServer.start({ dataDir, env: { COUNTERSIGN_BOOTSTRAP_KEY: '' } })
  const key = readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim()
  expect(await listAll(next.url, '/v1/keys', key)).toHaveLength(1)
})

it('serve waits for a MongoDB that takes connections and does not answer', async () => {
  const sockets: Socket[] = []
  const silent = createTcpServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port: at } = silent.address() as AddressInfo
  const server = starved([MAIN, 'serve'], { MONGODB_URL: `mongodb://user:pa55word@127.0.0.1:${at}/x` })
  const report = await lateReport(() => server.stdout, true)
  expect(report).toMatchObject({
    waiting_for: 'the store to open',
    reason: expect.stringContaining(`127.0.0.1:${at}/x: `),
  })
  expect(server.stdout).not.toContain('pa55word')
  server.signal('SIGTERM')
  expect(await server.end()).toEqual({ code: 0, signal: null })
  for (const socket of sockets) socket.destroy()
  silent.close()
})

it('serve ends with a sentence and without a stack when its first write fails for good', async () => {
  rmSync(heldWhile)
  const server = starved([MAIN, 'serve'], { FAILING: '1' })
  expect(await server.end()).toEqual({ code: 1, signal: null })
  const [line, ...more] = linesOf(server.stderr)
  expect(more).toEqual([])
  expect(line).toEqual({
    level: 'fatal',
    time: expect.any(String),
    msg: `The store could not write: database or disk is full. Check the disk of DATA_DIR ${dataDir}: it may be full, read-only or broken. Then start again.`,
  })
})

it('an embedded server and a command wait as well', async () => {
  const other = newDirectory()
  await (await ShippedServer.start({ dataDir: other })).stop()
  const program = `
    const { createCountersign, readConfig } = await import(${JSON.stringify(CREATE)})
    const { close } = await createCountersign({ address: 'http://127.0.0.1:1', config: readConfig(process.env) })
    await close()
    console.log('{"closed":true}')`
  const embedded = starved(['--input-type=module', '-e', program])
  await isReached()
  const command = starved([MAIN, 'keys', 'create', '--name', 'one', '--scope', 'decisions:read'], { DATA_DIR: other })
  await lateReport(() => embedded.stdout)
  await until('the command to say that it waits', () => command.stderr.includes('waits for the store') || undefined)
  rmSync(heldWhile)
  expect(await embedded.end()).toEqual({ code: 0, signal: null })
  expect(embedded.stdout).toContain('{"closed":true}')
  expect(await command.end()).toEqual({ code: 0, signal: null })
  expect(command.stdout).toMatch(/^cs_sk_\w+\n$/)
})

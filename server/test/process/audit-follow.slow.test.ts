/** `countersign audit follow` on a real server: what it prints, where it goes on, and how it ends. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listAll } from './call.js'
import { Child, endChildren } from './child.js'
import { CHOSEN_KEY, countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'
import { Terminal } from './terminal.js'

const DATA = newDirectory()
let server: ShippedServer
beforeAll(async () => {
  server = await ShippedServer.start({ dataDir: DATA })
  await server.call('POST', '/v1/policies', { body: { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] } })
}, 60_000)
afterAll(async () => {
  await endChildren()
  removeDirectories()
})
const followers: Child[] = []
afterEach(async () => {
  await Promise.all(followers.splice(0).map((one) => one.kill()))
})

const environment = (change: Readonly<Record<string, string>> = {}) => ({
  COUNTERSIGN_API_KEY: CHOSEN_KEY,
  COUNTERSIGN_URL: server.url,
  ...change,
})
function follow(args: readonly string[] = [], change?: Readonly<Record<string, string>>): Child {
  const child = countersign(['audit', 'follow', ...args], { env: environment(change) })
  followers.push(child)
  return child
}
const linesOf = ({ stdout }: Pick<Child, 'stdout'>) => stdout.split('\n').slice(0, -1)
const lines = (child: Child, count: number) =>
  until(`${count} lines of ${child.stdout}${child.stderr}`, () => {
    const found = linesOf(child)
    return found.length >= count ? found : undefined
  })
const decide = async (agent = 'agent:a'): Promise<string> =>
  (await server.call('POST', '/v1/decisions', { body: { agent_id: agent, action: 'mail.send' } })).body.id
const oldestFirst = async (query = '') => (await listAll(server.url, `/v1/audit${query}`, CHOSEN_KEY)).toReversed()
const newPosition = () => join(newDirectory(), 'position.json')

/** Undefined as long as there is none. */
function readByte(file: number): true | undefined {
  try {
    return readSync(file, Buffer.alloc(1)) > 0 || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}

async function endWell(child: Child): Promise<void> {
  child.signal('SIGTERM')
  expect(await child.end()).toEqual({ code: 0, signal: null })
  expect(child.stderr).toBe('')
}

describe('audit follow', () => {
  it('prints every entry oldest first, then those that come, and goes on behind its position', async () => {
    const position = newPosition()
    const before = await oldestFirst()
    const first = follow(['--position', position])
    await lines(first, before.length)
    await decide()
    const entries = await oldestFirst()
    expect((await lines(first, entries.length)).map((line) => JSON.parse(line))).toEqual(entries)
    await endWell(first)
    const id = await decide()
    const second = follow(['--position', position])
    expect((await lines(second, 1)).map((line) => JSON.parse(line).subject)).toEqual([id])
    await endWell(second)
  })

  it('begins at the end with --from now, and keeps that place without a single entry', async () => {
    const position = newPosition()
    const first = follow(['--position', position, '--from', 'now'])
    await until('the position', () => existsSync(position) || undefined)
    await endWell(first)
    expect(first.stdout).toBe('')
    const id = await decide()
    // Where to begin counts only without a position.
    const second = follow(['--position', position, '--from', 'start'])
    expect((await lines(second, 1)).map((line) => JSON.parse(line).subject)).toEqual([id])
    await endWell(second)
  })

  it('ends with --once when no entry is left, and takes up the rest the next time', async () => {
    const position = newPosition()
    const run = async () => {
      const child = follow(['--once', '--position', position])
      expect(await child.end()).toEqual({ code: 0, signal: null })
      return linesOf(child).map((line) => JSON.parse(line).id)
    }
    const first = await run()
    expect(first).toEqual((await oldestFirst()).map(({ id }) => id))
    expect(await run()).toEqual([])
    await decide()
    expect([...first, ...(await run())]).toEqual((await oldestFirst()).map(({ id }) => id))
  })

  it('prints the formats that it is asked for, of the entries that it is asked for', async () => {
    const id = await decide('agent:of-formats')
    const filters = ['--agent', 'agent:of-formats', '--type', 'decision.created']
    const ocsf = follow(['--format', 'ocsf', ...filters])
    const [event = ''] = await lines(ocsf, 1)
    expect(JSON.parse(event)).toMatchObject({ class_uid: 6003, resources: [{ uid: id }, {}, {}] })
    const cef = follow(['--format', 'cef', ...filters])
    const [line] = await lines(cef, 1)
    expect(line).toMatch(/^CEF:0\|Countersign\|Countersign\|[0-9.]+\|decision\.created\|Decision made\|1\|rt=/)
    await endWell(ocsf)
    await endWell(cef)
  })

  it('waits for a server that is away, says so once, and goes on', async () => {
    const child = follow(['--from', 'now', '--position', newPosition()])
    await decide()
    await until('a line or a position', async () => {
      await decide()
      return linesOf(child).length > 0 || undefined
    })
    await server.stop()
    await until('a notice', () => child.stderr.includes('The command tries again.') || undefined)
    server = await ShippedServer.start({ dataDir: DATA, env: { PORT: new URL(server.url).port } })
    const id = await decide()
    await until('the entry', () => child.stdout.includes(id) || undefined)
    child.signal('SIGTERM')
    expect(await child.end()).toEqual({ code: 0, signal: null })
    expect(new Set(child.stderr.split('\n').filter(Boolean)).size).toBe(child.stderr.split('\n').length - 1)
  })

  it('refuses a position that another follower uses, also by a link to it', async () => {
    const position = newPosition()
    const first = follow(['--position', position])
    await until('the position', () => existsSync(position) || undefined)
    const link = join(newDirectory(), 'link.json')
    symlinkSync(position, link)
    for (const path of [position, link]) {
      const second = follow(['--position', path])
      expect(await second.end()).toEqual({ code: 1, signal: null })
      expect(second.stderr).toContain(`Another audit follow uses ${path}`)
      expect(second.stdout).toBe('')
    }
    await endWell(first)
  })

  it('refuses a damaged position, and leaves it', async () => {
    const position = newPosition()
    writeFileSync(position, '{"countersign_audit_position":1,"af')
    const child = follow(['--position', position])
    expect(await child.end()).toEqual({ code: 1, signal: null })
    expect(child.stderr).toContain('is not a position of audit follow, or it is damaged')
    expect(child.stdout).toBe('')
    expect(readFileSync(position, 'utf8')).toBe('{"countersign_audit_position":1,"af')
  })

  it('refuses the position of another server, and leaves it', async () => {
    const position = newPosition()
    const first = follow(['--position', position])
    await until('the position', () => existsSync(position) || undefined)
    await endWell(first)
    const text = readFileSync(position, 'utf8')
    const other = await ShippedServer.start({ dataDir: newDirectory() })
    const child = follow(['--position', position], { COUNTERSIGN_URL: other.url })
    expect(await child.end()).toEqual({ code: 64, signal: null })
    expect(child.stderr).toContain(`The server refuses the position in ${position}`)
    expect(child.stderr).toContain('of another server')
    expect(child.stdout).toBe('')
    expect(readFileSync(position, 'utf8')).toBe(text)
    await other.stop()
  })

  it.each([
    [
      'without a key',
      [],
      { COUNTERSIGN_API_KEY: '' },
      78,
      'Set COUNTERSIGN_API_KEY to an API key with the scope audit:read',
    ],
    ['with a key that is none', [], { COUNTERSIGN_API_KEY: 'none' }, 78, '401 unauthorized'],
    ['for an unknown format', ['--format', 'constructor'], {}, 64, '--format must be one of json, ocsf, cef.'],
    ['for an unknown start', ['--from', 'yesterday'], {}, 64, '--from must be one of start, now.'],
    ['for an unknown type', ['--type', 'decision.made'], {}, 64, '400 validation_failed'],
  ])('ends at once %s', async (_what, args, change, code, message) => {
    const child = follow(args, change as Record<string, string>)
    expect(await child.end()).toEqual({ code, signal: null })
    expect(child.stderr).toContain(message)
    expect(child.stdout).toBe('')
  })

  it('ends with a key without the scope', async () => {
    const { body } = await server.call('POST', '/v1/keys', { body: { name: 'few', scopes: ['decisions:read'] } })
    const child = follow([], { COUNTERSIGN_API_KEY: body.key })
    expect(await child.end()).toEqual({ code: 78, signal: null })
    expect(child.stderr).toContain('403 insufficient_scope')
  })

  it('ends well when nobody reads it any more', async () => {
    const head = new Terminal(`sh -c '${process.execPath} ${MAIN} audit follow | head -n 1'`, { env: environment() })
    followers.push(head)
    await head.says(/"id":"aud_/)
    await until('the end of the pipe', async () => {
      if (head.ending === undefined) await decide()
      return head.ending
    })
    expect(head.stdout).not.toMatch(/EPIPE|Error/)
  })

  it('ends at SIGTERM while nobody takes its lines, and repeats them', async () => {
    // More than a pipe holds.
    while ((await oldestFirst()).length < 200) await Promise.all(Array.from({ length: 20 }, () => decide()))
    const position = newPosition()
    // A pipe whose reader takes one byte: then a page is being written.
    const pipe = join(newDirectory(), 'pipe')
    spawnSync('mkfifo', [pipe])
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
    const stuck = spawn(process.execPath, [MAIN, 'audit', 'follow', '--position', position], {
      env: { ...process.env, ...environment() },
      stdio: ['ignore', reader, 'inherit'],
    })
    await until('the first byte', () => readByte(reader))
    stuck.kill('SIGTERM')
    const [code] = await once(stuck, 'exit')
    closeSync(reader)
    expect(code).toBe(0)
    expect(existsSync(position)).toBe(false)
    const next = follow(['--position', position])
    const entries = await oldestFirst()
    expect((await lines(next, entries.length)).map((line) => JSON.parse(line).id)).toEqual(entries.map(({ id }) => id))
    await endWell(next)
  })

  it('appends to a file, and begins behind a line that a former run left unfinished', async () => {
    const folder = newDirectory()
    mkdirSync(join(folder, 'out'))
    const file = join(folder, 'out', 'audit.ndjson')
    writeFileSync(file, '{"id":"aud_unfin')
    const out = openSync(file, 'a')
    const child = spawn(process.execPath, [MAIN, 'audit', 'follow'], {
      env: { ...process.env, ...environment() },
      stdio: ['ignore', out, 'inherit'],
    })
    closeSync(out)
    const entries = await oldestFirst()
    const found = await until('the entries', () => {
      const found = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      return found.length > entries.length ? found : undefined
    })
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(found[0]).toBe('{"id":"aud_unfin')
    expect(found.slice(1).map((line) => JSON.parse(line).id)).toEqual(entries.map(({ id }) => id))
  })

  it('runs as the systemd unit runs it, into the file that the shippers read', async () => {
    const read = (path: string) => readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), 'utf8')
    const unit = read('systemd/countersign-audit-follow.service')
    const [, command = ''] = /^ExecStart=\/bin\/sh -c '(.+)'$/m.exec(unit) ?? []
    const [bin, state, logs] = [newDirectory(), newDirectory(), newDirectory()]
    writeFileSync(join(bin, 'countersign'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`, { mode: 0o755 })
    const folders = { STATE_DIRECTORY: state, LOGS_DIRECTORY: logs, PATH: `${bin}:${process.env.PATH}` }
    const service = new Child('/bin/sh', ['-c', command], { env: environment(folders) })
    followers.push(service)
    const entries = await oldestFirst()
    const file = join(logs, 'audit.ndjson')
    await until('the entries', () => {
      const found = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
      return found.length >= entries.length && existsSync(join(state, 'position.json')) ? true : undefined
    })
    const [first = ''] = readFileSync(file, 'utf8').split('\n')
    expect(JSON.parse(first)).toMatchObject({ metadata: { uid: entries[0].id, version: '1.3.0' } })
    await endWell(service)
    const [, folder] = /^LogsDirectory=(.+)$/m.exec(unit) ?? []
    for (const shipper of ['siem/vector.yaml', 'siem/fluent-bit.conf'])
      expect(read(shipper)).toContain(`/var/log/${folder}/audit.ndjson\n`)
  })
})

/** `countersign keys create`, with the server at rest and beside it while it runs. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** Only root can give a file to another user. */
const isRoot = process.getuid?.() === 0
const KEY = /^cs_sk_[0-9A-Za-z]{49}\n$/

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const keysCreate = (dataDir: string, ...args: string[]) =>
  countersign(['keys', 'create', ...args], { env: { DATA_DIR: dataDir } })

/** Runs the command to its good end, and gives the key. */
async function createKey(dataDir: string, ...args: string[]): Promise<string> {
  const command = keysCreate(dataDir, ...args)
  expect(await command.end()).toEqual({ code: 0, signal: null })
  expect({ stdout: command.stdout, stderr: command.stderr }).toEqual({ stdout: expect.stringMatching(KEY), stderr: '' })
  return command.stdout.trim()
}

/** All that lies in a folder, byte for byte. */
function contentOf(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join()
}

const spoolOf = (dataDir: string) => join(dataDir, 'operator-inbox')
const spool = (dataDir: string) => (existsSync(spoolOf(dataDir)) ? readdirSync(spoolOf(dataDir)) : [])

async function self(url: string, key: string) {
  const { status, body } = await call(url, 'GET', '/v1/keys/self', { key })
  return { status, ...body }
}

describe('keys create', () => {
  it('makes a key of a server at rest, as it is told, and leaves its text nowhere', async () => {
    const dataDir = newDirectory()
    await (await ShippedServer.start({ dataDir })).stop()
    const [lost, bound] = [
      await createKey(dataDir),
      await createKey(
        dataDir,
        ...['--name', 'bots', '--scope', 'decisions:write', 'decisions:read'],
        ...['--agent', 'agent:support-*', '--expires', '2099-01-01T00:00:00.000Z'],
      ),
    ]
    for (const key of [lost, bound]) expect(contentOf(dataDir)).not.toContain(key)
    const server = await ShippedServer.start({ dataDir })
    expect(await self(server.url, lost)).toMatchObject({ status: 200, scopes: ['*'], agents: null, created_by: null })
    const { id, ...made } = await self(server.url, bound)
    expect(made).toMatchObject({
      ...{ status: 200, name: 'bots', scopes: ['decisions:write', 'decisions:read'] },
      ...{ agents: ['agent:support-*'], expires_at: '2099-01-01T00:00:00.000Z', hint: `cs_sk_…${bound.slice(-4)}` },
    })
    const entries = await listAll(server.url, '/v1/audit?type=key.created', CHOSEN_KEY)
    expect(entries.filter(({ subject }) => subject === id)).toMatchObject([{ actor: null }])
  })

  it('makes none in a store that lacks what the signing keys remember, and writes nothing in its place', async () => {
    const dataDir = newDirectory()
    await (await ShippedServer.start({ dataDir })).stop()
    const keyFile = join(dataDir, 'signing-keys.json')
    const file = JSON.parse(readFileSync(keyFile, 'utf8'))
    file.newest_entry.index += 1
    writeFileSync(keyFile, JSON.stringify(file))
    const command = keysCreate(dataDir)
    expect(await command.end()).toEqual({ code: 1, signal: null })
    expect(command.stdout).toBe('')
    const lacks = `lacks entry ${file.newest_entry.index} of its audit log`
    expect(JSON.parse(command.stderr).msg).toContain(lacks)
    const rotate = countersign(['signing-keys', 'rotate'], { env: { DATA_DIR: dataDir } })
    expect(await rotate.end()).toEqual({ code: 1, signal: null })
    expect(JSON.parse(rotate.stderr).msg).toMatch(
      new RegExp(`^The signing keys are changed\\. The store did not record .*${lacks}`),
    )
    const serve = countersign(['serve'], { env: { DATA_DIR: dataDir, PORT: '0' } })
    expect(await serve.end()).toEqual({ code: 1, signal: null })
    expect(JSON.parse(serve.stderr).msg).toContain(lacks)
  })

  it('makes a key of a running server, which it can use at once, and leaves nothing behind', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const [key, other] = await Promise.all([createKey(dataDir), createKey(dataDir, '--scope', 'keys:read')])
    expect(await self(server.url, key)).toMatchObject({ status: 200, scopes: ['*'] })
    expect(await self(server.url, other)).toMatchObject({ status: 200, scopes: ['keys:read'] })
    expect(spool(dataDir)).toEqual([])
    expect(contentOf(dataDir)).not.toContain(key)
    expect(server.stdout + server.stderr).not.toContain(key)
    expect((await server.stop()).code).toBe(0)
    const next = await ShippedServer.start({ dataDir })
    expect(await self(next.url, key)).toMatchObject({ status: 200 })
  })

  it('makes every key when it is run several times at once', async () => {
    const dataDir = newDirectory()
    await (await ShippedServer.start({ dataDir })).stop()
    const keys = await Promise.all([createKey(dataDir), createKey(dataDir)])
    expect(spool(dataDir)).toEqual([])
    const server = await ShippedServer.start({ dataDir })
    for (const key of keys) expect(await self(server.url, key)).toMatchObject({ status: 200 })
    expect(await listAll(server.url, '/v1/keys', CHOSEN_KEY)).toHaveLength(1 + keys.length)
  })

  it('prints no key that was not made, and says why', async () => {
    const dataDir = newDirectory()
    const refusals = async (args: readonly string[], why: RegExp) => {
      const command = keysCreate(dataDir, ...args)
      expect((await command.end()).code).not.toBe(0)
      expect(command.stdout).toBe('')
      expect(JSON.parse(command.stderr).msg).toMatch(why)
    }
    const over = ['--expires', '2020-01-01T00:00:00.000Z']
    await refusals([], /no server data in .*DATA_DIR/)
    expect(readdirSync(dataDir)).toEqual([])
    const server = await ShippedServer.start({ dataDir })
    await Promise.all([
      refusals(['--scope', 'everything'], /scopes/),
      refusals(['--agent', 'agent:*'], /scopes|agents/),
      refusals(['--expires', 'tomorrow'], /expires_at/),
      refusals(over, /expires_at must be in the future/),
    ])
    expect(spool(dataDir)).toEqual([])
    expect(await listAll(server.url, '/v1/keys', CHOSEN_KEY)).toHaveLength(1)
    await server.stop()
    await refusals(over, /expires_at must be in the future/)
  })

  it.runIf(isRoot)('makes nothing for a server of another user, whose files it would own', async () => {
    const dataDir = newDirectory()
    await (await ShippedServer.start({ dataDir })).stop()
    chownSync(join(dataDir, 'countersign.db'), 12345, 12345)
    const command = keysCreate(dataDir)
    expect({ ...(await command.end()), stdout: command.stdout }).toEqual({ code: 1, signal: null, stdout: '' })
    expect(JSON.parse(command.stderr).msg).toContain('belongs to the user with number 12345')
  })

  it('works although others have left rubbish in its way, which harms nothing and is thrown away', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const secret = { hash: 'h'.repeat(43), hint: 'x', expires_at: null }
    const key = { name: 'hostile', scopes: ['*'] }
    const rubbish: Record<string, string> = {
      'a-no-json': '{',
      'b-null': 'null',
      'c-empty': '',
      'd-no-secret': JSON.stringify({ key }),
      'e-no-key': JSON.stringify({ secret }),
      'f-more': JSON.stringify({ key, secret, created_by: 'key_0' }),
      'g-secret': JSON.stringify({ key, secret: { ...secret, hash: 7 } }),
      'h-hint': JSON.stringify({ key, secret: { ...secret, hint: { $ne: 1 } } }),
      'i-hint': JSON.stringify({ key, secret: { ...secret, hint: 'long'.repeat(100) } }),
      'j-huge': `${JSON.stringify({ key, secret })}${' '.repeat(100_000)}`,
      'k-key': JSON.stringify({ key: { ...key, id: 'key_0' }, secret }),
      'l-nested': '['.repeat(60_000),
    }
    mkdirSync(spoolOf(dataDir), { recursive: true })
    for (const [name, text] of Object.entries(rubbish)) writeFileSync(join(spoolOf(dataDir), `${name}.json`), text)
    mkdirSync(join(spoolOf(dataDir), 'm-folder.json'))
    writeFileSync(join(spoolOf(dataDir), 'm-folder.json', 'inside'), 'x')
    const elsewhere = join(newDirectory(), 'command')
    writeFileSync(elsewhere, JSON.stringify({ key, secret }))
    symlinkSync(elsewhere, join(spoolOf(dataDir), 'n-link.json'))
    symlinkSync('/dev/zero', join(spoolOf(dataDir), 'o-device.json'))
    execFileSync('mkfifo', [join(spoolOf(dataDir), 'p-pipe.json')])

    const made = await createKey(dataDir)
    expect(await self(server.url, made)).toMatchObject({ status: 200 })
    await until('an empty spool', () => spool(dataDir).length === 0 || undefined)
    expect(existsSync(elsewhere)).toBe(true)
    const names = (await listAll(server.url, '/v1/keys', CHOSEN_KEY)).map(({ name }) => name)
    expect(names.sort()).toEqual(['bootstrap', 'made on the command line'])
    expect((await server.call('GET', '/readyz')).status).toBe(200)
    const told = server.lines.filter(({ msg }) => /admin command/.test(String(msg)))
    expect(told).toHaveLength(Object.keys(rubbish).length + 4)
    expect(JSON.stringify(told)).not.toContain('hhhh')
  })
})

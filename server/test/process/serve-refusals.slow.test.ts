/** When the server does not start: it says why, in one line for a machine, and its exit code says it too. */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Starts what must not start. */
async function refused(env: Record<string, string>) {
  const child = countersign(['serve'], { env: { PORT: '0', DATA_DIR: join(newDirectory(), 'data'), ...env } })
  const { code } = await child.end()
  expect(child.stdout).toBe('')
  expect(child.stderr.trim().split('\n')).toHaveLength(1)
  const { level, msg } = JSON.parse(child.stderr)
  expect(level).toBe('fatal')
  return { code, message: msg as string }
}

describe('serve refuses to start', () => {
  it('with settings that are not valid: every problem at once, and each variable by name', async () => {
    const env = {
      PORT: '70000',
      HOST: '0.0.0.0',
      PERMIT_AUDIENCE: '',
      LOG_LEVEL: 'loud',
      COUNTERSIGN_BOOTSTRAP_KEY: 'short',
      MONGODB_URL: 'http://localhost',
      METRICS_TOKEN: 'short',
      RATE_LIMIT_PER_SECOND: '-1',
      DECISION_TTL_SECONDS: '3601',
      REVIEW_TTL_SECONDS: '1.5',
      MAX_OPEN_REVIEWS: 'many',
      MAX_OPEN_REVIEWS_PER_KEY: '1e3',
    }
    const { code, message } = await refused(env)
    expect(code).toBe(78)
    const named = ['ISSUER', ...Object.keys(env).filter((name) => name !== 'PERMIT_AUDIENCE')]
    for (const name of named) expect(message).toContain(name)
    expect(message.split('\n  - ')).toHaveLength(1 + named.length - 1)
    expect(message).not.toContain('short')
  })

  it.each([
    'mongodb://user:pa55@w0rd@127.0.0.1/x',
    'mongodb://user:pa55?w0rd=1@127.0.0.1/x',
    'mongodb://127.0.0.1/%zz',
  ])('with %s, which is no URL of MongoDB, and tells nothing of it', async (MONGODB_URL) => {
    const { code, message } = await refused({ MONGODB_URL })
    expect(code).toBe(78)
    expect(message).toContain('MONGODB_URL is not a usable URL')
    expect(message).not.toMatch(/pa55|w0rd|%zz/)
  })

  it('on a MongoDB that is not there, and tells why without the password', async () => {
    const { code, message } = await refused({ MONGODB_URL: 'mongodb://user:pa55word@127.0.0.1:9/x' })
    expect(code).toBe(1)
    expect(message).toMatch(/^MongoDB at 127\.0\.0\.1:9\/x: it did not answer \(.*ECONNREFUSED/)
    expect(message).not.toContain('pa55word')
  })

  it.each([
    ['mongodb+srv://user:pa55word@no-such-host.invalid/x', /DNS did not find its hosts \(E\w+\)/],
    [
      'mongodb://user:pa55word@127.0.0.1:9/x?tls=true&tlsCertificateKeyFile=/nonexistent&tlsCertificateKeyFilePassword=pa55word',
      /a file named in MONGODB_URL cannot be read \(ENOENT\)/,
    ],
  ])('on %s, and tells what cannot be found without the password', async (MONGODB_URL, told) => {
    const { code, message } = await refused({ MONGODB_URL })
    expect(code).toBe(1)
    expect(message).toMatch(told)
    expect(message).not.toContain('pa55word')
  })

  it('on an address of the network without an issuer, which permits would name', async () => {
    const { code, message } = await refused({ HOST: '0.0.0.0' })
    expect(code).toBe(78)
    expect(message).toMatch(/ISSUER .* HOST/)
  })

  it('on a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const { code, message } = await refused({ PORT: String(port) })
    other.close()
    expect(code).toBe(1)
    expect(message).toContain(`Port ${port} on 127.0.0.1 is in use`)
  })

  it.each(['/dev/null', '/dev/null/below'])('on %s, which can be no data directory', async (dataDir) => {
    const { code, message } = await refused({ DATA_DIR: dataDir })
    expect(code).toBe(78)
    expect(message).toContain(`DATA_DIR ${dataDir}`)
  })

  it('on a data directory in use, while its owner goes on', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const { code, message } = await refused({ DATA_DIR: dataDir })
    expect({ code, message }).toEqual({
      code: 1,
      message: expect.stringContaining(`Another process uses the data directory ${dataDir}`),
    })
    expect((await server.call('GET', '/readyz')).status).toBe(200)
  })

  it('on data that is damaged, of a newer release, or open to others, and touches none of it', async () => {
    const whole = newDirectory()
    await (await ShippedServer.start({ dataDir: whole })).stop()
    const database = (folder: string) => join(folder, 'countersign.db')
    const keys = (folder: string) => join(folder, 'signing-keys.json')
    const cases: [string, (folder: string) => void, RegExp][] = [
      ['a database cut in half', (to) => cutInHalf(database(to)), /countersign\.db is damaged .* backup/],
      ['no database at all', (to) => writeFileSync(database(to), 'hello'.repeat(1000)), /countersign\.db is damaged/],
      [
        'a newer schema',
        (to) => setVersion(database(to), 99),
        /schema version 99, but this release supports .* newer release/,
      ],
      ['signing keys cut in half', (to) => cutInHalf(keys(to)), /signing-keys\.json are damaged.* backup/],
      ['signing keys that others may read', (to) => chmodSync(keys(to), 0o644), /chmod 600/],
      [
        'a folder in place of the database',
        (to) => replaceByFolder(database(to)),
        /countersign\.db is a directory, but must be a file\. Move it away/,
      ],
    ]
    const outcomes = cases.map(async ([name, damage, expected]) => {
      const dataDir = newDirectory()
      cpSync(whole, dataDir, { recursive: true })
      damage(dataDir)
      const before = name.includes('folder') ? null : readFileSync(database(dataDir))
      const { code, message } = await refused({ DATA_DIR: dataDir })
      expect({ name, code }).toEqual({ name, code: 1 })
      expect(message).toMatch(expected)
      if (before !== null) expect(readFileSync(database(dataDir)).equals(before)).toBe(true)
    })
    await Promise.all(outcomes)
  })
})

describe('the command line', () => {
  it('ends with its usage and 64 what it does not understand', async () => {
    const lines = [
      'decide',
      'keys destroy',
      'serve --port 1',
      'serve now',
      '',
      'keys',
      'signing-keys revoke',
      'keys create --name',
    ]
    const started = lines.map((line) => {
      const child = countersign(line.split(' ').filter(Boolean), { env: { PORT: '0', DATA_DIR: newDirectory() } })
      return { line, child }
    })
    for (const { line, child } of started) {
      const { code } = await child.end()
      const { stdout, stderr } = child
      expect({ line, code, stdout, stderr }).toEqual({
        line,
        code: 64,
        stdout: '',
        stderr: expect.stringContaining('Usage: countersign'),
      })
    }
  })

  it('tells its version and its usage when asked', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const told = countersign(['--version'])
    expect({ ...(await told.end()), said: told.stdout }).toEqual({ code: 0, signal: null, said: `${version}\n` })
    const helped = countersign(['keys', 'create', '--help'])
    expect((await helped.end()).code).toBe(0)
    expect(helped.stdout).toContain('--scope')
  })
})

function cutInHalf(path: string): void {
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.subarray(0, bytes.length / 2))
}

function setVersion(path: string, version: number): void {
  const db = new Database(path)
  db.exec(`PRAGMA user_version = ${version}`)
  db.close()
  rmSync(`${path}-sums`)
}

function replaceByFolder(path: string): void {
  rmSync(path)
  mkdirSync(path)
}

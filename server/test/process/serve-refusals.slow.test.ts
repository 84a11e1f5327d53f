/** When the server does not start: it says why, in one line for a machine, and its exit code says it too. */
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, describe, expect, it } from 'vitest'
import { Child, endChildren } from './child.js'
import { countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Starts what must not start. What it says is one sentence for the operator, without a stack. */
async function refused(env: Record<string, string>, program: readonly string[] = []) {
  const [command = '', ...args] = [...program, process.execPath, MAIN, 'serve']
  const child = new Child(command, args, { env: { PORT: '0', DATA_DIR: join(newDirectory(), 'data'), ...env } })
  const { code } = await child.end()
  expect(child.stdout).toBe('')
  expect(child.stderr.trim().split('\n')).toHaveLength(1)
  const { level, msg, ...more } = JSON.parse(child.stderr)
  expect(level).toBe('fatal')
  expect(Object.keys(more)).toEqual(['time'])
  return { code, message: msg as string }
}

/** The permissions of files do not stop root, unless it gives that up. */
const BOUND_BY_PERMISSIONS =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []

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

  it.each([
    ['which is closed to it', (dataDir: string) => chmodSync(dataDir, 0o000)],
    ['whose signing keys are', (dataDir: string) => chmodSync(join(dataDir, 'signing-keys.json'), 0o000)],
    ['whose database is', (dataDir: string) => chmodSync(join(dataDir, 'countersign.db'), 0o000)],
    ['where it may make no file', (dataDir: string) => chmodSync(dataDir, 0o500)],
  ])('on a data directory %s, and says who should run it', async (_, close) => {
    const dataDir = newDirectory()
    await (await ShippedServer.start({ dataDir })).stop()
    rmSync(join(dataDir, 'lock'))
    close(dataDir)
    const { code, message } = await refused({ DATA_DIR: dataDir }, BOUND_BY_PERMISSIONS)
    chmodSync(dataDir, 0o700)
    expect(code).toBe(1)
    expect(message).toMatch(/^\/\S+ cannot be used \(EACCES\)\. This user \(number \d+\) may not read or write it\./)
    expect(message).toContain(`Run the server as the owner of DATA_DIR ${dataDir}`)
  })

  it('with a disk that is full, or too small for its files', async () => {
    const full = await refused({}, ['sh', '-c', 'ulimit -S -f 0; exec "$0" "$@"'])
    expect(full).toEqual({
      code: 1,
      message: expect.stringMatching(/ cannot be used \(EFBIG\)\. .* raise the limit|Check the disk of DATA_DIR/),
    })
  })

  it('on a database that another program has locked', async () => {
    const dataDir = newDirectory()
    const db = new Database(join(dataDir, 'countersign.db'))
    db.exec('BEGIN EXCLUSIVE')
    const { code, message } = await refused({ DATA_DIR: dataDir })
    db.exec('ROLLBACK')
    db.close()
    expect(code).toBe(1)
    expect(message).toMatch(/cannot be opened \(SQLITE_BUSY.*\)\. Another program has locked it: end that program/)
  })

  it('with links that lead nowhere in place of its files', async () => {
    const [around, away] = [newDirectory(), newDirectory()]
    symlinkSync('signing-keys.json', join(around, 'signing-keys.json'))
    symlinkSync('/proc/nowhere/keys.json', join(away, 'signing-keys.json'))
    for (const [dataDir, expected] of [
      [around, /signing-keys\.json cannot be used \(ELOOP\)\. Check DATA_DIR/],
      [away, /\/proc\/nowhere cannot be used \(ENOENT\)\. Check DATA_DIR/],
    ] as const) {
      const { code, message } = await refused({ DATA_DIR: dataDir })
      expect([code, message]).toEqual([1, expect.stringMatching(expected)])
    }
  })

  it.each(['no-such-host.invalid', '192.0.2.1'])('on host %s, which is not of this machine', async (HOST) => {
    const { code, message } = await refused({ HOST, ISSUER: 'https://countersign.example' })
    expect([code, message]).toEqual([
      1,
      `HOST ${HOST} is not an address of this machine. Set HOST to one, such as 127.0.0.1.`,
    ])
  })

  it('on the database of another program, and without the database that its keys have signed for', async () => {
    const foreign = newDirectory()
    const db = new Database(join(foreign, 'countersign.db'))
    db.exec('CREATE TABLE theirs (a)')
    db.close()
    const other = await refused({ DATA_DIR: foreign })
    expect([other.code, other.message]).toEqual([
      1,
      expect.stringContaining('belongs to another program. Choose another'),
    ])
    const lost = newDirectory()
    const server = await ShippedServer.start({ dataDir: lost })
    await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'a.b' } })
    await server.stop()
    for (const file of readdirSync(lost)) if (file.startsWith('countersign.db')) rmSync(join(lost, file))
    const gone = await refused({ DATA_DIR: lost })
    expect([gone.code, gone.message]).toEqual([1, expect.stringContaining('countersign serve --accept-loss')])
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
      '--port 1',
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

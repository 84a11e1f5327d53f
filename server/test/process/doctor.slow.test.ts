/** `countersign doctor`: a line for everything that is looked at, and for each problem what to do. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { checkClock } from '#server/cli/doctor/clock'
import { checkSpace } from '#server/cli/doctor/data-directory'
import { Connection } from '#server/stores/sqlite/driver'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** Only root can give a file to another user. */
const isRoot = process.getuid?.() === 0

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** What it says by subject, and which of it are problems. */
async function doctor(dataDir: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const child = countersign(['doctor', ...args], { env: { DATA_DIR: dataDir, PORT: '0', ...env } })
  const { code } = await child.end()
  expect(child.stderr).toBe('')
  const lines = child.stdout.trimEnd().split('\n')
  const found = lines.map((line) => /^(ok|problem) +(\w+(?: \w+)?) {2,}(.*)$/.exec(line)?.slice(1) ?? [line])
  const problems = found.filter(([state]) => state === 'problem')
  expect(code).toBe(problems.length > 0 ? 1 : 0)
  for (const [, , text] of problems) expect(text).toContain(' Fix: ')
  return {
    stdout: child.stdout,
    said: Object.fromEntries(found.map(([, subject, text]) => [subject, text])),
    problems: Object.fromEntries(problems.map(([, subject, text]) => [subject, text])),
  }
}

/** A data directory that a server has used and left. */
async function usedDirectory(): Promise<string> {
  const dataDir = newDirectory()
  const server = await ShippedServer.start({ dataDir })
  await server.stop()
  return dataDir
}

function change(dataDir: string, sql: string): void {
  const db = Connection.open(join(dataDir, 'countersign.db'))
  db.get('SELECT 1 FROM sqlite_schema')
  db.execute(sql)
  db.close()
  rmSync(join(dataDir, 'countersign.db-sums'), { force: true })
}

describe('countersign doctor', () => {
  it('finds nothing wrong before the first start, and makes nothing', async () => {
    const dataDir = join(newDirectory(), 'below')
    const { problems, said } = await doctor(dataDir)
    expect(problems).toEqual({})
    const subjects = [
      'configuration',
      'port',
      'data directory',
      'files',
      'disk space',
      'store',
      'audit log',
      'clock',
      'signing keys',
      'traces',
    ]
    expect(Object.keys(said)).toEqual(subjects)
    expect(readdirSync(join(dataDir, '..'))).toEqual([])
  })

  it('finds nothing wrong beside the running server, nor after it, and tells no secret', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const { port } = new URL(server.url)
    const beside = await doctor(dataDir, { PORT: port, COUNTERSIGN_BOOTSTRAP_KEY: CHOSEN_KEY })
    expect(beside.problems).toEqual({})
    expect(beside.said.port).toContain('runs at')
    expect(beside.stdout).not.toContain(CHOSEN_KEY)
    const { keys } = JSON.parse(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8'))
    for (const { jwk } of keys) expect(beside.stdout).not.toContain(jwk.d)
    await server.stop()
    const after = await doctor(dataDir, { PORT: port })
    expect(after.problems).toEqual({})
    expect(after.said.port).toContain('is free')
  })

  it('tells every setting that is wrong', async () => {
    const { stdout } = await doctor(newDirectory(), { PORT: 'abc', LOG_LEVEL: 'loud' })
    expect(stdout.match(/^problem +configuration +(PORT|LOG_LEVEL) .*$/gm)).toHaveLength(2)
  })

  it('tells a port that another program has', async () => {
    const other = createServer((_, res) => res.end('hello'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const { problems } = await doctor(newDirectory(), { PORT: `${port}` })
    expect(Object.keys(problems)).toEqual(['port'])
    expect(problems.port).toContain('Another program')
    other.close()
  })

  it('tells a server of another data directory from ours', async () => {
    const server = await ShippedServer.start({ dataDir: newDirectory() })
    const { problems } = await doctor(await usedDirectory(), { PORT: new URL(server.url).port })
    expect(problems.port).toContain('other signing keys')
    await server.stop()
  })

  it('tells a host that is not of this machine', async () => {
    const { problems } = await doctor(newDirectory(), { HOST: '192.0.2.1', ISSUER: 'https://decide.example' })
    expect(problems.port).toContain('EADDRNOTAVAIL')
  })

  it('tells a data directory that is none, or that others can change', async () => {
    const folder = newDirectory()
    writeFileSync(join(folder, 'file'), '')
    expect((await doctor(join(folder, 'file'))).problems['data directory']).toContain('is not a directory')
    const open = join(folder, 'open')
    mkdirSync(open)
    chmodSync(open, 0o777)
    expect((await doctor(open)).problems['data directory']).toContain(`chmod 700 ${open}`)
  })

  it.runIf(isRoot)('tells a data directory and a file of another user', async () => {
    const dataDir = await usedDirectory()
    chownSync(join(dataDir, 'countersign.db'), 12_345, 12_345)
    expect((await doctor(dataDir)).problems.files).toContain('number 12345')
    chownSync(dataDir, 12_345, 12_345)
    const before = readdirSync(dataDir)
    expect((await doctor(dataDir)).problems['data directory']).toContain('number 12345')
    expect(readdirSync(dataDir)).toEqual(before)
  })

  it('tells files that others may open', async () => {
    const dataDir = await usedDirectory()
    chmodSync(join(dataDir, 'countersign.db'), 0o644)
    chmodSync(join(dataDir, 'signing-keys.json'), 0o640)
    const { problems } = await doctor(dataDir)
    expect(problems.files).toContain(`chmod 600 ${join(dataDir, 'countersign.db')}`)
    expect(problems['signing keys']).toContain(`chmod 600 ${join(dataDir, 'signing-keys.json')}`)
  })

  it('tells a store of a newer release, of another program, and a damaged one', async () => {
    const dataDir = await usedDirectory()
    change(dataDir, 'PRAGMA user_version = 99')
    expect((await doctor(dataDir)).problems.store).toContain('schema version 99')
    change(dataDir, 'PRAGMA user_version = 1; PRAGMA application_id = 7')
    expect((await doctor(dataDir)).problems.store).toContain('another program')
    writeFileSync(join(dataDir, 'countersign.db'), 'x'.repeat(9000))
    expect((await doctor(dataDir)).problems.store).toContain('countersign restore')
  })

  it('reads the whole store when it is asked to, beside a server too, and names what is not as it was', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const deep = () => doctor(dataDir, { PORT: new URL(server.url).port }, ['--deep'])
    expect((await deep()).said.store).toContain('was read completely')
    await server.stop()
    expect((await deep()).problems).toEqual({})
    const database = join(dataDir, 'countersign.db')
    const whole = readFileSync(database)
    const spoilt = Buffer.from(whole)
    spoilt[whole.length - 1] = (whole.at(-1) as number) ^ 1
    writeFileSync(database, spoilt)
    expect((await deep()).problems.store).toMatch(/page \d+ differs from what was written.* Fix: .*countersign restore/)
    writeFileSync(database, whole)
    change(dataDir, "UPDATE audit_entries SET document = json_set(document, '$.actor', 'key_else') WHERE seq = 2")
    expect((await deep()).problems.store).toContain('audit_entries, row 2: the audit entry does not match its hash')
    change(dataDir, "UPDATE audit_entries SET document = CAST(x'7bff7d' AS TEXT) WHERE seq = 3")
    change(dataDir, "UPDATE audit_entries SET document = json_set(document, '$.actor', null) WHERE seq = 2")
    expect((await deep()).problems.store).toContain('audit_entries, row 3: document contains text that is not UTF-8')
  }, 60_000)

  it('reads the whole store beside a server that decides, and names a row that is not as it was', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir })
    const deep = () => doctor(dataDir, { PORT: new URL(server.url).port }, ['--deep'])
    let isDeciding = true
    const deciding = (async () => {
      for (let decided = 0; ; decided += 1) {
        if (!isDeciding) return decided
        const body = { agent_id: 'agent:a', action: 'a.b', context: { text: 'x'.repeat(10_000) } }
        expect((await server.call('POST', '/v1/decisions', { body })).status).toBe(200)
      }
    })()
    const beside = await deep()
    isDeciding = false
    expect(await deciding).toBeGreaterThan(0)
    expect(beside.problems).toEqual({})
    expect(beside.said.store).toContain('was read completely')
    change(dataDir, "UPDATE audit_entries SET document = json_set(document, '$.actor', 'key_else') WHERE seq = 2")
    expect((await deep()).problems.store).toContain('audit_entries, row 2: the audit entry does not match its hash')
    expect((await server.call('GET', '/readyz')).status).toBe(200)
  }, 60_000)

  it('tells a clock that is behind what the store holds', async () => {
    const dataDir = await usedDirectory()
    change(dataDir, `UPDATE audit_entries SET at_ms = ${Date.now() + 3_600_000}`)
    expect((await doctor(dataDir)).problems.clock).toMatch(/3\d{3} s behind/)
  })

  it('tells signing keys that are missing or damaged', async () => {
    const dataDir = await usedDirectory()
    writeFileSync(join(dataDir, 'signing-keys.json'), '{')
    expect((await doctor(dataDir)).problems['signing keys']).toContain('damaged')
    rmSync(join(dataDir, 'signing-keys.json'))
    expect((await doctor(dataDir)).problems['signing keys']).toContain('restore it')
  })

  it.each(['mongodb://user:pa55@w0rd@127.0.0.1/x', 'mongodb://127.0.0.1/%zz', 'mongodb://127.0.0.1/a.b'])(
    'tells a URL of MongoDB that cannot be used, %s, and nothing of it',
    async (MONGODB_URL) => {
      const { said, stdout } = await doctor(newDirectory(), { MONGODB_URL })
      expect(said.configuration).toMatch(/^MONGODB_URL .* Fix: /)
      expect(stdout).not.toMatch(/pa55|w0rd|%zz|a\.b/)
    },
  )

  it('tells a MongoDB that does not answer, without its password', async () => {
    const { problems, stdout } = await doctor(newDirectory(), {
      MONGODB_URL: 'mongodb://user:pa55word@127.0.0.1:9/test',
    })
    expect(problems.store).toContain('127.0.0.1:9/test')
    expect(stdout).not.toContain('pa55word')
  })
})

describe('what a machine at rest does not show', () => {
  it('a clock that jumped while it was looked at', () => {
    const begin = { wallMs: 1_000_000, monotonicMs: 10 }
    expect(checkClock(begin, { wallMs: 1_001_000, monotonicMs: 1010 }, null).fix).toBeNull()
    expect(checkClock(begin, { wallMs: 998_000, monotonicMs: 1010 }, null).text).toContain('jumped by 3000 ms')
    expect(checkClock(begin, { wallMs: 1_001_000, monotonicMs: 1010 }, 1_002_000).fix).toBeNull()
  })

  it('a disk that is nearly full', () => {
    expect(checkSpace(newDirectory(), 0).fix).toBeNull()
    expect(checkSpace(newDirectory(), Number.MAX_SAFE_INTEGER).fix).toContain('free some space')
  })
})

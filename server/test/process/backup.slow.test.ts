/** `countersign backup` beside a server under load, `countersign restore`, and what both refuse. */
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { leafHash } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { takeFileLock } from '#server/durable-files/file-lock'
import { Connection } from '#server/stores/sqlite/driver'
import { type Answer, listAll } from './call.js'
import { endChildren } from './child.js'
import { readAccounts } from './recomputed-accounts.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const CALLERS = 8
/** Answered before the backup begins, and at least this many more while it is made. */
const BEFORE = 300

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

async function run(args: readonly string[], dataDir: string, env: Record<string, string> = {}) {
  const child = countersign(args, { env: { DATA_DIR: dataDir, ...env } })
  const { code } = await child.end()
  return { code, stdout: child.stdout, stderr: child.stderr }
}

/** Callers that decide about a budget and settle in every way, until they are told to stop. */
class Load {
  readonly acknowledged: string[] = []
  private isOver = false
  private readonly runs: Promise<unknown>

  constructor(private readonly server: ShippedServer) {
    this.runs = Promise.all(Array.from({ length: CALLERS }, () => this.call()))
  }

  async reaches(answers: number): Promise<void> {
    await until(`${answers} decisions`, () => (this.acknowledged.length >= answers ? true : undefined))
  }

  async end(): Promise<void> {
    this.isOver = true
    await this.runs
  }

  private async call(): Promise<void> {
    for (let asked = 0; !this.isOver; asked += 1) {
      const { id } = await this.post('/v1/decisions', {
        agent_id: 'agent:a',
        action: 'pay.create',
        context: { amount: 1.5 },
      })
      this.acknowledged.push(id)
      if (asked % 3 === 0) await this.post(`/v1/decisions/${id}/confirm`, { amount: 1.25 })
      if (asked % 3 === 1) await this.post(`/v1/decisions/${id}/reject`, {})
    }
  }

  private async post(path: string, body: object): Promise<Answer['body']> {
    const answer = await this.server.call('POST', path, { body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
}

async function startWithBudget(): Promise<{ readonly dataDir: string; readonly server: ShippedServer }> {
  const dataDir = newDirectory()
  const server = await ShippedServer.start({ dataDir })
  const rules = [{ action: 'pay.create', effect: 'allow' }]
  const budget = { limit: 1_000_000, unit: 'EUR', period: 'total' }
  await server.call('POST', '/v1/policies', { body: { name: 'pay', rules, budget } })
  return { dataDir, server }
}

/** Every log has all its indexes, and every leaf is that of its entry. */
function expectWholeLogs(entries: readonly Answer['body'][]): string[] {
  const logs = [...new Set(entries.map(({ log }) => log as string))]
  for (const log of logs) {
    const indexes = entries.filter((entry) => entry.log === log).map(({ index }) => index)
    expect(indexes.sort((a, b) => a - b)).toEqual([...indexes.keys()])
  }
  for (const entry of entries) expect(leafHash(entry)).toBe(entry.leaf)
  return logs
}

describe('countersign backup and restore', () => {
  it('a backup under load holds all that was acknowledged before, and what is restored goes on', async () => {
    const { dataDir, server } = await startWithBudget()
    const load = new Load(server)
    await load.reaches(BEFORE)
    const before = [...load.acknowledged]
    const file = join(newDirectory(), 'countersign.backup')
    const made = await run(['backup', file], dataDir)
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toContain(file)
    await load.reaches(load.acknowledged.length + 50)
    await load.end()
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    const [log] = expectWholeLogs(await listAll(server.url, '/v1/audit', CHOSEN_KEY))
    await server.stop()

    const restored = join(newDirectory(), 'below')
    expect(await run(['restore', file], restored)).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(restored).sort()).toEqual(['checkpoints.ndjson', 'countersign.db', 'lock'])
    expect((statSync(join(restored, 'countersign.db')).mode & 0o777).toString(8)).toBe('600')
    copyFileSync(join(dataDir, 'signing-keys.json'), join(restored, 'signing-keys.json'))

    const next = await ShippedServer.start({ dataDir: restored })
    const listed = new Set((await listAll(next.url, '/v1/decisions', CHOSEN_KEY)).map(({ id }) => id))
    expect(before.filter((id) => !listed.has(id))).toEqual([])
    expect(listed.size).toBeLessThan(load.acknowledged.length)
    const { stored, recomputed } = readAccounts(restored)
    expect(stored).toEqual(recomputed)
    expect(Object.keys(stored)).toHaveLength(1)
    const told = (await listAll(next.url, '/v1/audit?type=decision.created', CHOSEN_KEY)).map(({ subject }) => subject)
    expect(told.sort()).toEqual([...listed].sort())

    await next.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'pay.create' } })
    const logs = expectWholeLogs(await listAll(next.url, '/v1/audit', CHOSEN_KEY))
    // What was decided since the backup stands at indexes of the former log, which no other entry may take.
    expect(logs).toHaveLength(2)
    expect(logs).toContain(log)
    await next.stop()
  })

  it('holds neither the signing keys nor the first API key', async () => {
    const dataDir = newDirectory()
    const server = await ShippedServer.start({ dataDir, env: { COUNTERSIGN_BOOTSTRAP_KEY: '' } })
    const file = join(newDirectory(), 'backup')
    expect((await run(['backup', file], dataDir)).code).toBe(0)
    const backup = readFileSync(file, 'latin1')
    const { keys } = JSON.parse(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8'))
    for (const { jwk } of keys) expect(backup).not.toContain(jwk.d)
    expect(backup).not.toContain(readFileSync(join(dataDir, 'bootstrap-key'), 'utf8').trim())
    await server.stop()
  })

  it('takes what a killed server left in its log', async () => {
    const { dataDir, server } = await startWithBudget()
    const { body } = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'pay.create' } })
    await server.kill()
    const file = join(newDirectory(), 'backup')
    expect((await run(['backup', file], dataDir)).code).toBe(0)
    const restored = newDirectory()
    expect((await run(['restore', file], restored)).code).toBe(0)
    const next = await ShippedServer.start({ dataDir: restored })
    expect((await next.call('GET', `/v1/decisions/${body.id}`)).status).toBe(200)
    await next.stop()
  })
})

describe('what backup refuses', () => {
  it('a file that is there, a directory without a server, MongoDB', async () => {
    const { dataDir, server } = await startWithBudget()
    const file = join(newDirectory(), 'kept')
    writeFileSync(file, 'kept')
    expect(await run(['backup', file], dataDir)).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') })
    expect(readFileSync(file, 'utf8')).toBe('kept')
    const missing = join(newDirectory(), 'missing')
    expect(await run(['backup', join(missing, 'backup')], dataDir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The directory ${missing} does not exist. Create it`),
    })
    const below = join(join(newDirectory(), 'file'), 'below')
    writeFileSync(dirname(below), '')
    expect(await run(['backup', join(below, 'backup')], dataDir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The directory ${below} does not exist. Create it`),
    })
    const long = join(newDirectory(), 'x'.repeat(300))
    expect(await run(['backup', long], dataDir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${long} cannot be written (ENAMETOOLONG). Choose a directory`),
    })
    const noServer = await run(['backup', join(newDirectory(), 'b')], below)
    expect(noServer).toMatchObject({ code: 1, stderr: expect.stringContaining(`no server data in ${below}. Set`) })
    const nothing = await run(['backup', join(newDirectory(), 'b')], newDirectory())
    expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no server data') })
    const mongodb = await run(['backup', join(newDirectory(), 'b')], dataDir, { MONGODB_URL: 'mongodb://u:secret@h/d' })
    expect(mongodb).toMatchObject({ code: 1, stderr: expect.stringContaining('mongodump') })
    expect(mongodb.stderr).not.toContain('secret')
    await server.stop()
  })
})

describe('what restore refuses, leaving all as it was', () => {
  let file: string
  let dataDir: string
  async function backedUp(): Promise<void> {
    const started = await startWithBudget()
    dataDir = started.dataDir
    file = join(newDirectory(), 'backup')
    expect((await run(['backup', file], dataDir)).code).toBe(0)
    await started.server.stop()
  }

  it('a directory that is not empty or in use', async () => {
    await backedUp()
    const before = readFileSync(join(dataDir, 'countersign.db'))
    expect(await run(['restore', file], dataDir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not empty'),
    })
    expect(readFileSync(join(dataDir, 'countersign.db')).equals(before)).toBe(true)

    const held = newDirectory()
    const release = takeFileLock(join(held, 'lock'))
    expect(await run(['restore', file], held)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Another process uses'),
    })
    release?.()
    expect(readdirSync(held)).toEqual(['lock'])
    expect((await run(['restore', file], held)).code).toBe(0)
  })

  it('a data directory that cannot be made', async () => {
    await backedUp()
    for (const target of [file, join(file, 'below')])
      expect(await run(['restore', file], target)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`The directory ${target} cannot be created`),
      })
  })

  it('a file that is no sound backup', async () => {
    await backedUp()
    const keySet = join(newDirectory(), 'jwks.json')
    writeFileSync(keySet, JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }] }))
    const spoiled: Record<string, (path: string) => void> = {
      'the file does not exist': () => {},
      'it is empty': (path) => writeFileSync(path, ''),
      'file is not a database': (path) => writeFileSync(path, 'x'.repeat(9000)),
      'malformed|damaged|not a database|I/O|usable backup': (path) => {
        copyFileSync(file, path)
        truncateSync(path, Math.floor(statSync(file).size / 2))
      },
      'belongs to another program': (path) => change(path, 'CREATE TABLE t (x)'),
      'schema version 99': (path) => {
        copyFileSync(file, path)
        change(path, 'PRAGMA user_version = 99')
      },
      'its tables do not match': (path) => {
        copyFileSync(file, path)
        change(path, 'DROP INDEX decisions_by_agent')
      },
      'copy of a database file without its -wal file': (path) => {
        copyFileSync(file, path)
        change(path, 'PRAGMA journal_mode = WAL')
      },
    }
    for (const [told, spoil] of Object.entries(spoiled)) {
      const path = join(newDirectory(), 'backup')
      spoil(path)
      const target = newDirectory()
      const { code, stderr } = await run(['restore', path], target)
      expect(code, told).toBe(1)
      expect(stderr).toMatch(new RegExp(told))
      expect(readdirSync(target)).toEqual([])
      expect((await run(['restore', path], join(target, 'made', 'by it'))).code).toBe(1)
      expect(readdirSync(target)).toEqual([])
      // What is verified is a copy, of which nobody knows.
      const verified = await run(['audit', 'verify', '--records', '--backup', path, '--jwks', keySet], target)
      expect(verified).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(told)) })
      expect(verified.stderr).toContain(path)
      expect(verified.stderr).not.toMatch(/countersign-backup-|estore|data directory/)
    }
  })

  it('clears away what a restore that was killed had begun', async () => {
    await backedUp()
    const target = newDirectory()
    for (const name of ['countersign.db.1.tmp', 'countersign.db.1.tmp-wal']) writeFileSync(join(target, name), 'half')
    expect((await run(['restore', file], target)).code).toBe(0)
    expect(readdirSync(target).sort()).toEqual(['checkpoints.ndjson', 'countersign.db', 'lock'])
  })
})

function change(path: string, sql: string): void {
  const db = Connection.open(path)
  db.get('SELECT 1')
  db.execute(sql)
  db.close()
  rmSync(`${path}-sums`, { force: true })
}

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NewerSchemaError, StoreUnavailableError } from '#server/ports/store/errors'
import type { Mutation, Store } from '#server/ports/store/store'
import { DamagedStoreError } from '#server/stores/sqlite/data-directory'
import { Connection } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { ForeignDatabaseError } from '#server/stores/sqlite/schema'
import {
  agentOf,
  createOf,
  decisionOf,
  deliveryOf,
  eraseOf,
  idOf,
  instant,
  LogPen,
  storeSuite,
  WHOLE,
  writeAgentOf,
} from '../../store-suite/index.js'
import { openInNewDirectory } from './open-in-new-directory.js'
import {
  ALLOWED,
  ALLOWED_REQUEST,
  DENIED,
  IDEMPOTENCY,
  KEY,
  KEY_USES,
  REFUNDS,
  REFUNDS_LATER,
  REGISTERED,
  SAMPLE,
  SUSPENDED,
  WAITING,
} from './store-sample.js'

storeSuite('the embedded store', openInNewDirectory)

const KEPT_FILE = new URL('./fixtures/store-v1.db', import.meta.url)
const PAGE_BYTES = 4096

describe('the data directory of the embedded store', () => {
  let dataDir: string
  let database: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
    database = join(dataDir, 'countersign.db')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  async function expectRefused(error: new (...parameters: never[]) => Error, says: RegExp): Promise<void> {
    const before = readFileSync(database)
    const refusal = await openSqliteStore({ dataDir }).catch((thrown: unknown) => thrown)
    expect(refusal).toBeInstanceOf(error)
    expect((refusal as Error).message).toMatch(says)
    expect((refusal as Error).message).toContain(database)
    expect(readFileSync(database).equals(before)).toBe(true)
  }

  /** As an operator would who knows what it means. */
  function change(sql: string): void {
    const db = Connection.open(database)
    db.execute(sql)
    db.close()
    rmSync(`${database}-sums`, { force: true })
  }

  function read(sql: string) {
    const db = Connection.openReadOnly(database)
    const rows = db.all(sql)
    db.close()
    return rows
  }

  it('is made for its owner alone, whatever the umask', async () => {
    const inner = join(dataDir, 'a', 'b?c#d%41 é')
    const umask = process.umask(0)
    try {
      const store = await openSqliteStore({ dataDir: inner })
      await (await LogPen.of(store)).commit(createOf(decisionOf(1)))
      expect(statSync(inner).mode & 0o777).toBe(0o700)
      const modes = readdirSync(inner).map((file) => [file, statSync(join(inner, file)).mode & 0o777])
      expect(modes).toEqual(
        ['countersign.db', 'countersign.db-shm', 'countersign.db-sums', 'countersign.db-wal', 'lock'].map((file) => [
          file,
          0o600,
        ]),
      )
      await store.close()
    } finally {
      process.umask(umask)
    }
  })

  it('can be reached by another path and still is one', async () => {
    const store = await openSqliteStore({ dataDir })
    await expect(openSqliteStore({ dataDir: join(dataDir, '..', dataDir.split('/').at(-1) ?? '') })).rejects.toThrow(
      'Another process uses',
    )
    await store.close()
  })

  it('brings a file of version 1 to the present with all that it holds', async () => {
    copyFileSync(KEPT_FILE, database)
    expect(read('PRAGMA user_version')[0]?.user_version).toBe(1)
    const secret = read("SELECT value FROM meta WHERE name = 'secret.cursors'")[0]?.value
    const store = await openSqliteStore({ dataDir })
    await expectSample(store)
    expect(await store.secret('cursors')).toBe(secret)
    await store.close()
    expect(read('PRAGMA user_version')[0]?.user_version).toBe(11)
    const again = await openSqliteStore({ dataDir })
    await expectSample(again)
    const later = await (await LogPen.of(again)).commit(createOf(decisionOf(50)))
    expect(later).toEqual({ written: 1, conflict: null })
    await again.close()
  })

  /** Version 10 kept no trace beside a decision. */
  function asVersion10(): void {
    change('DROP INDEX decisions_by_trace')
    change('ALTER TABLE decisions DROP COLUMN trace_id')
    change('PRAGMA user_version = 10')
  }

  it('keeps the decisions of version 10, and finds new ones by their trace', async () => {
    const store = await openSqliteStore({ dataDir })
    await (await LogPen.of(store)).commit(createOf(decisionOf(1)))
    const before = await store.decisions.get(decisionOf(1).id)
    await store.close()
    asVersion10()
    const again = await openSqliteStore({ dataDir })
    expect(await again.decisions.get(decisionOf(1).id)).toStrictEqual(before)
    const traced = decisionOf(2, { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' })
    await (await LogPen.of(again)).commit(createOf(traced))
    const filter = { agents: null, now: instant(0), trace_id: traced.trace_id as string }
    const { items } = await again.decisions.list(filter, { limit: 9, after: null })
    expect(items.map(({ decision }) => decision)).toEqual([traced])
    await again.close()
    expect(read('SELECT id FROM decisions INDEXED BY decisions_by_trace WHERE trace_id IS NOT NULL')).toHaveLength(1)
  })

  /** Version 9 kept beside an agent whether a server loads it. */
  function asVersion9(isHeld: 0 | 1): void {
    asVersion10()
    change('DROP INDEX agents_written')
    change(`ALTER TABLE agents ADD COLUMN is_held INTEGER NOT NULL DEFAULT ${isHeld}`)
    change('CREATE INDEX agents_held ON agents (id) WHERE is_held = 1')
    change('PRAGMA user_version = 9')
  }

  it('loads a suspension of version 9, whatever was written beside it', async () => {
    const store = await openSqliteStore({ dataDir })
    const suspended = agentOf('agent:1', { suspended: { at: instant(5), by: 'key_1', reason: null } })
    await (await LogPen.of(store)).commit(writeAgentOf(suspended))
    await store.close()
    asVersion9(0)
    const again = await openSqliteStore({ dataDir })
    expect(await again.agents.load()).toEqual([suspended])
    await again.close()
  })

  it('brings deliveries of version 8 to the present: found by what they tell of, and without answers of erased requests', async () => {
    const attempt = { at: instant(9), status: 200, error: null, response: 'its answer', duration_ms: 1.5 }
    const store = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(store)
    await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2)), eraseOf(decisionOf(1)))
    const deliveries = [1, 2].map((number) => deliveryOf(number, { attempts: [attempt, attempt] }))
    for (const delivery of deliveries) await store.deliveries.add(delivery)
    await store.close()
    asVersion9(1)
    change('DROP INDEX deliveries_by_subject')
    change('ALTER TABLE deliveries DROP COLUMN subject')
    change('PRAGMA user_version = 8')
    const again = await openSqliteStore({ dataDir })
    const feed = again
    const erased = { ...attempt, response: null }
    expect((await feed.deliveries.get(idOf('dlv', 1)))?.attempts).toEqual([erased, erased])
    expect(await feed.deliveries.get(idOf('dlv', 2))).toEqual(deliveries[1])
    await (await LogPen.of(again)).commit(eraseOf(decisionOf(2)))
    expect((await feed.deliveries.get(idOf('dlv', 2)))?.attempts).toEqual([erased, erased])
    await again.close()
  })

  it('is left as it was by a migration that fails', async () => {
    copyFileSync(KEPT_FILE, database)
    change('CREATE INDEX audit_entries_by_type ON audit_entries (type)')
    const schema = read('SELECT * FROM sqlite_schema')
    await expect(openSqliteStore({ dataDir })).rejects.toThrow('audit_entries_by_type already exists')
    expect(read('PRAGMA user_version')[0]?.user_version).toBe(1)
    expect(read('SELECT * FROM sqlite_schema')).toEqual(schema)
  })

  it('keeps what another program writes while it is refused', async () => {
    await (await openSqliteStore({ dataDir })).close()
    for (const suffix of ['-wal', '-shm']) rmSync(`${database}${suffix}`, { force: true })
    const inOtherProgram = (statement: string) => {
      const program = `
        import Database from 'libsql'
        const db = new Database(process.argv[1])
        ${statement}
        process.exit(0)`
      const args = ['--input-type=module', '--eval', program, database]
      return execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' })
    }
    const assertWanted = () => {
      inOtherProgram("db.exec('CREATE TABLE notes (text); INSERT INTO notes VALUES (1)')")
      throw new Error('It is not wanted.')
    }
    await expect(openSqliteStore({ dataDir, assertWanted })).rejects.toThrow('It is not wanted.')
    expect(inOtherProgram("console.log(db.prepare('SELECT text FROM notes').get().text)")).toBe('1\n')
  })

  it('is refused when a newer release wrote it', async () => {
    copyFileSync(KEPT_FILE, database)
    change('PRAGMA user_version = 99')
    await expectRefused(NewerSchemaError, /schema version 99.*up to 11.*newer/)
  })

  it('is refused when another program wrote it', async () => {
    change('CREATE TABLE theirs (a); PRAGMA user_version = 1')
    await expectRefused(ForeignDatabaseError, /another program/)
  })

  const kept = readFileSync(KEPT_FILE)
  it.each<[damage: string, content: Buffer]>([
    ['is no database', Buffer.from('hello '.repeat(2000))],
    ['lost its header', Buffer.concat([Buffer.alloc(100, 0x11), kept.subarray(100)])],
    ['lost its end', kept.subarray(0, kept.length - 2 * PAGE_BYTES)],
    ['lost half a page', kept.subarray(0, kept.length - PAGE_BYTES / 2)],
    ['has an empty page', Buffer.from(kept).fill(0, 2 * PAGE_BYTES, 3 * PAGE_BYTES)],
    ['has a page of noise', Buffer.from(kept).fill(0x5a, 5 * PAGE_BYTES, 6 * PAGE_BYTES)],
  ])('is refused when the file %s', async (_, content) => {
    writeFileSync(database, content)
    await expectRefused(DamagedStoreError, /is damaged \(.+\)\. Nothing was changed\. Restore a backup/)
  })

  it('is refused when a table is missing', async () => {
    await (await openSqliteStore({ dataDir })).close()
    change('DROP TABLE sightings')
    await expectRefused(DamagedStoreError, /its tables do not match its schema version/)
  })

  it('is refused when the database is gone and its log is there, which SQLite would throw away', async () => {
    writeFileSync(`${database}-wal`, Buffer.alloc(5000, 1))
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(DamagedStoreError)
    expect(statSync(`${database}-wal`).size).toBe(5000)
  })

  it('can be opened again after it was refused', async () => {
    writeFileSync(database, 'hello '.repeat(2000))
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(DamagedStoreError)
    rmSync(database)
    await (await openSqliteStore({ dataDir })).close()
  })
})

async function expectSample(store: Store): Promise<void> {
  expect(await store.decisions.get(ALLOWED.id)).toStrictEqual({
    decision: { ...ALLOWED, version: 2, redeemed: { by: KEY.id, at: instant(20) } },
    request: ALLOWED_REQUEST,
  })
  expect((await store.decisions.list({ agents: null, now: instant(20), status: 'denied' }, WHOLE)).items).toStrictEqual(
    [{ decision: DENIED, request: { context: null, salt: 'salt-11' } }],
  )
  expect(await store.decisions.listOpenReviews(instant(20))).toHaveLength(1)
  const byResource = { agents: null, now: instant(20), resource: WAITING.resource ?? '' }
  expect((await store.decisions.list(byResource, WHOLE)).items.map(({ decision }) => decision)).toStrictEqual([WAITING])
  expect(await store.policies.load()).toStrictEqual({ policy_set: 4, policies: [REFUNDS_LATER] })
  expect(await store.policies.loadSet(1)).toStrictEqual([REFUNDS])
  expect([...(await store.agents.load())].sort((one, other) => (one.id < other.id ? -1 : 1))).toStrictEqual([
    SUSPENDED,
    REGISTERED,
  ])
  expect((await store.agents.get(DENIED.agent_id))?.lastSeen.last_seen).toBe(DENIED.evaluated_at)
  expect(await store.keys.load()).toStrictEqual([KEY])
  expect(await store.keys.loadUses()).toEqual(KEY_USES)
  expect(await store.idempotency.get(IDEMPOTENCY, instant(20))).toStrictEqual(IDEMPOTENCY)
  expect((await store.openLog()).next_index).toBeGreaterThanOrEqual(SAMPLE.length)
  expect((await store.audit.list({ type: 'policy.write' }, WHOLE)).items).toHaveLength(4)
}

describe('the writer of the embedded store', () => {
  /** What no caller of the port can make: it fails inside the writer's transaction. */
  const broken = { change: { kind: 'entry.only' }, entry: {}, idempotency: null } as unknown as Mutation

  it('starts again after a failure, and takes commits only from a log that was opened since', async () => {
    const { store, destroy } = await openInNewDirectory()
    const pen = await LogPen.of(store)
    await pen.commit(createOf(decisionOf(0)))
    const good = pen.seal([{ change: createOf(decisionOf(1)) }])

    const failing = store.commit([...good, broken])
    const behind = store.commit(good)
    await expect(failing).rejects.toThrow(StoreUnavailableError)
    await expect(behind).rejects.toThrow(StoreUnavailableError)
    expect(await store.decisions.get(idOf('dec', 0))).not.toBeNull()
    expect(await store.decisions.get(idOf('dec', 1))).toBeNull()
    await expect(store.commit(good)).rejects.toThrow(StoreUnavailableError)
    await store.ping()
    await expect(store.commit(good)).rejects.toThrow('The audit log must be opened first.')

    expect(await store.openLog()).toEqual({ log: pen.log, next_index: 1 })
    expect(await store.commit(good)).toEqual({ written: 1, conflict: null })
    await destroy()
  })

  it('is started once by several calls that need it', async () => {
    const { store, destroy } = await openInNewDirectory()
    await store.openLog()
    await expect(store.commit([broken])).rejects.toThrow(StoreUnavailableError)
    await Promise.all([store.openLog(), store.ping(), store.secret('a'), store.idempotency.purge(instant(0))])
    await store.ping()
    await destroy()
  })

  it('can be closed after a failure and while it starts again', async () => {
    const { store, destroy } = await openInNewDirectory()
    await store.openLog()
    await expect(store.commit([broken])).rejects.toThrow(StoreUnavailableError)
    const ping = store.ping().catch(() => 'closed before')
    await Promise.all([store.close(), store.close()])
    await ping
    await destroy()
  })
})

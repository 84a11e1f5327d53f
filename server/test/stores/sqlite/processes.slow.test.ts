import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { stress } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { DataDirectoryInUseError } from '#server/stores/sqlite/data-directory'
import { Connection } from '#server/stores/sqlite/driver'
import { readThrough } from '#server/stores/sqlite/fault-report'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { createOf, decisionOf, idempotencyOf, instant, LogPen, walk } from '../../store-suite/index.js'

const PROGRAM = fileURLToPath(new URL('./processes/store-process.mjs', import.meta.url))
const ERASER = fileURLToPath(new URL('./processes/erasing-process.mjs', import.meta.url))
const READER = fileURLToPath(new URL('./processes/reader.mjs', import.meta.url))
/** The log's index begins with its header, twice. */
const INDEX_HEADER_BYTES = 48

/** About this many writes and syncs of the log make two commits of three records. */
const STEPS = 100

const probe = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { encoding: 'utf8' })
const cannotTrace = probe.status === 0 ? null : (probe.error?.message ?? probe.stderr.trim())
if (cannotTrace !== null) console.log(`skipped: strace cannot run here (${cannotTrace})`)

/** About this many writes, syncs and cuts of files make an erasure, and the wiping of the files. */
const ERASING_STEPS = 260

/** `processes/store-process.mjs`, told line by line. */
class StoreProcess {
  readonly child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #ended: Promise<unknown>
  /** The last index whose commit it reported as done. */
  acknowledged = -1

  /** @param command runs the program in a shell */
  /** @param arg of the program: how many records are in a group, for the one that writes */
  constructor(dataDir: string, arg: number | string, command = 'exec "$0" "$@"', program = PROGRAM) {
    this.child = spawn('sh', ['-c', command, process.execPath, program, dataDir, String(arg)])
    this.child.stderr.pipe(process.stderr)
    this.#lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
    this.#ended = new Promise((resolve) => this.child.once('close', resolve))
  }

  /** The next event, null after the last one. */
  async next(): Promise<string | null> {
    const { value, done } = await this.#lines.next()
    if (done === true) return null
    const [event, , last] = value.split(' ')
    if (event === 'acknowledged') this.acknowledged = Number(last)
    return value
  }

  async nextOther(): Promise<string | null> {
    for (;;) {
      const event = await this.next()
      if (event === null || !event.startsWith('acknowledged')) return event
    }
  }

  /** Kills it the hard way and takes in what it had still said. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    while ((await this.next()) !== null);
    await this.#ended
  }
}

/** Everything up to the index is whole, and so is whatever else is there. */
async function expectWhole(store: Store, lastAcknowledged: number): Promise<void> {
  const entries = (await walk(200, (page) => store.audit.list({}, page))).reverse()
  const { next_index } = await store.openLog()
  expect(next_index).toBeGreaterThan(lastAcknowledged)
  expect(entries.map(({ index }) => index)).toEqual([...Array(next_index).keys()])
  const filter = { agents: null, now: instant(0) }
  const decisions = await walk(200, (page) => store.decisions.list(filter, page))
  const created = entries.filter(({ type }) => type === 'decision.created')
  expect(decisions.map(({ decision }) => decision.id).reverse()).toEqual(created.map(({ subject }) => subject))
  const versions = decisions.reduce((sum, { decision }) => sum + decision.version, 0)
  expect(versions).toBe(entries.length)
  for (const { subject } of created) {
    const record = await store.idempotency.get(idempotencyOf(subject, { key: subject }), instant(0))
    expect(record?.subject).toBe(subject)
  }
}

const ACCOUNT_COLUMNS = ['policy_id', 'unit', 'period', 'agent_id', 'starts_at'] as const

/** Every account is, to the unit, what the decisions count for there, read past the store. Says how many there are. */
function expectBalanced(dataDir: string): number {
  const db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
  const sums = new Map<string, { spent: bigint; reserved: bigint }>()
  const columns = ACCOUNT_COLUMNS.map((name) => `coalesce(posting.value ->> '$.account.${name}', '')`)
  for (const { account, spent, reserved } of db.all(
    `SELECT json_array(${columns}) AS account, posting.value ->> 'spent' AS spent, posting.value ->> 'reserved' AS reserved
     FROM decisions, json_each(decisions.document, '$.postings') AS posting`,
  )) {
    const sum = sums.get(account as string) ?? { spent: 0n, reserved: 0n }
    sum.spent += BigInt(spent as string)
    sum.reserved += BigInt(reserved as string)
    sums.set(account as string, sum)
  }
  const stored = db.all(`SELECT json_array(${ACCOUNT_COLUMNS}) AS account, spent, reserved FROM accounts`)
  db.close()
  expect(new Map(stored.map((row) => [row.account, { spent: row.spent, reserved: row.reserved }]))).toEqual(
    new Map([...sums].map(([account, sum]) => [account, { spent: `${sum.spent}`, reserved: `${sum.reserved}` }])),
  )
  return sums.size
}

describe('the embedded store beside other processes', () => {
  let dataDir: string
  let running: StoreProcess[]
  const start = (arg: number | string, command?: string, program?: string) => {
    const started = new StoreProcess(dataDir, arg, command, program)
    running.push(started)
    return started
  }

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
    running = []
  })
  afterEach(async () => {
    for (const one of running) await one.kill()
    rmSync(dataDir, { recursive: true })
  })

  it('refuses a second process, naming the directory', async () => {
    const store = await openSqliteStore({ dataDir })
    const second = start(1)
    expect(await second.next()).toBe(
      `refused DataDirectoryInUseError Another process uses the data directory ${dataDir}. ` +
        'Stop that process first, or choose another data directory.',
    )
    await store.close()
    expect(await start(1).next()).toBe('open')
  })

  it('refuses to open what another process holds, until that process ends, however it ends', async () => {
    const holder = start(1)
    expect(await holder.next()).toBe('open')
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(DataDirectoryInUseError)
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(dataDir)
    await holder.kill()
    await (await openSqliteStore({ dataDir })).close()
  })

  it('still refuses other processes after this one tried to open the directory twice', async () => {
    const store = await openSqliteStore({ dataDir })
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(DataDirectoryInUseError)
    expect(await start(1).next()).toMatch(/^refused DataDirectoryInUseError /)
    await store.close()
  })

  it('has every acknowledged record after kill -9, whole, and each account in balance, round after round', async () => {
    for (let round = 0; round < stress.store_kills; round += 1) {
      const writing = start(1 + (round % 3) * 7)
      const untilCommits = 5 + 13 * (round % 7)
      expect(await writing.next()).toBe('open')
      for (let commits = 0; commits < untilCommits; commits += 1) {
        expect(await writing.next()).toMatch(/^acknowledged /)
      }
      await writing.kill()
      const store = await openSqliteStore({ dataDir })
      await expectWhole(store, writing.acknowledged)
      await store.close()
      expect(expectBalanced(dataDir)).toBeGreaterThan(0)
    }
  })

  it('opens again after a kill between the last write to the log and to its index, which a reader keeps', async () => {
    const writing = start(3)
    expect(await writing.next()).toBe('open')
    for (let commits = 0; commits < 5; commits += 1) expect(await writing.next()).toMatch(/^acknowledged /)
    const reader = spawn(process.execPath, [READER, dataDir])
    try {
      await once(reader.stdout, 'data')
      const indexPath = join(dataDir, 'countersign.db-shm')
      const older = () => readFileSync(indexPath).subarray(0, 2 * INDEX_HEADER_BYTES)
      const isWhole = (index: Buffer) =>
        index.subarray(0, INDEX_HEADER_BYTES).equals(index.subarray(INDEX_HEADER_BYTES))
      let index = older()
      while (!isWhole(index)) index = older()
      for (let commits = 0; commits < 20; commits += 1) expect(await writing.next()).toMatch(/^acknowledged /)
      await writing.kill()
      const file = openSync(indexPath, 'r+')
      writeSync(file, index, 0, index.length, 0)
      closeSync(file)
      for (let opened = 0; opened < 2; opened += 1) await (await openSqliteStore({ dataDir })).close()
      expect(await readThrough(join(dataDir, 'countersign.db'))).toBeNull()
    } finally {
      reader.kill('SIGKILL')
    }
  })

  it.skipIf(cannotTrace !== null)(
    'is whole, and each account in balance, wherever a kill interrupts writing',
    async () => {
      await (await openSqliteStore({ dataDir })).close()
      const calls = 'pwrite64,fsync,fdatasync'
      const log = join(dataDir, 'countersign.db-wal')
      for (let kill = 0; kill < stress.store_kills; kill += 1) {
        const step = 1 + Math.floor((kill * STEPS) / stress.store_kills)
        const inject = `-P ${log} -e trace=${calls} -e inject=${calls}:signal=SIGKILL:when=${step}`
        const writing = start(3, `exec strace -f -qq -o /dev/null ${inject} "$0" "$@"`)
        expect(await writing.next()).toBe('open')
        expect(await writing.nextOther()).toBeNull()
        const store = await openSqliteStore({ dataDir })
        await expectWhole(store, writing.acknowledged)
        await store.close()
        if (writing.acknowledged >= 0) expectBalanced(dataDir)
      }
    },
  )

  it.skipIf(cannotTrace !== null)(
    'is erased and wiped by the next process, wherever a kill interrupts that',
    async () => {
      const decisions = [...Array(40).keys()].map((number) =>
        decisionOf(number, { request_hash: `erased-hash-${number}` }),
      )
      const request = { context: { fact: `erased-fact-${'x'.repeat(5000)}` }, salt: 'erased-salt' }
      const calls = 'pwrite64,fsync,fdatasync,ftruncate'
      for (let kill = 0; kill < stress.store_kills; kill += 1) {
        rmSync(dataDir, { recursive: true })
        const filled = await openSqliteStore({ dataDir })
        const pen = await LogPen.of(filled)
        for (const decision of decisions) await pen.commit(createOf(decision, request))
        await filled.close()
        const step = 1 + Math.floor((kill * ERASING_STEPS) / stress.store_kills)
        const inject = `-e trace=${calls} -e inject=${calls}:signal=SIGKILL:when=${step}`
        const erasing = start(1, `exec strace -f -qq -o /dev/null ${inject} "$0" "$@"`, ERASER)
        const said: string[] = []
        for (let event = await erasing.next(); event !== null; event = await erasing.next()) said.push(event)
        const store = await openSqliteStore({ dataDir })
        const { items } = await store.decisions.listHeldRequests({}, { limit: 100, after: null })
        expect(items.length).toBe(said.includes('erased') || items.length === 0 ? 0 : decisions.length)
        await store.wipe()
        const isWiped = items.length === 0
        for (const name of readdirSync(dataDir))
          if (isWiped) expect(readFileSync(join(dataDir, name), 'latin1')).not.toMatch(/erased-(hash|fact|salt)/)
        await store.close()
        expect(await readThrough(join(dataDir, 'countersign.db'))).toBeNull()
      }
    },
  )

  it.skipIf(cannotTrace !== null)('is made by the next start, wherever a kill interrupts the first one', async () => {
    const calls = 'pwrite64,fsync,unlink,ftruncate'
    const left: string[][] = []
    for (let step = 1; step <= 16; step += 1) {
      rmSync(dataDir, { recursive: true })
      mkdirSync(dataDir)
      const inject = `-e trace=${calls} -e inject=${calls}:signal=SIGKILL:when=${step}`
      const starting = start(1, `exec strace -f -qq -o /dev/null ${inject} "$0" "$@"`)
      expect(await starting.next()).toBeNull()
      left.push(readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).size > 0))
      await (await openSqliteStore({ dataDir })).close()
    }
    // The change to a file with a log is in the database, and the journal that would take it back is still there.
    expect(left).toContainEqual(['countersign.db', 'countersign.db-journal'])
  })

  it('goes on when there is no room to wipe the files, and wipes them when there is', async () => {
    const filled = await openSqliteStore({ dataDir })
    const pen = await LogPen.of(filled)
    for (let number = 0; number < 40; number += 1)
      await pen.commit(
        createOf(decisionOf(number), { context: { fact: `erased-fact-${'x'.repeat(5000)}` }, salt: 's' }),
      )
    await filled.close()
    const erasing = start('stepwise', undefined, ERASER)
    expect([await erasing.next(), await erasing.next()]).toEqual(['open', 'erased'])
    const limit = (size: string) => execFileSync('prlimit', ['--pid', String(erasing.child.pid), `--fsize=${size}`])
    limit(`${statSync(join(dataDir, 'countersign.db-wal')).size}:unlimited`)
    erasing.child.stdin.write('wipe, without room\n')
    expect(await erasing.next()).toMatch(/^failed /)
    limit('unlimited:unlimited')
    erasing.child.stdin.write(`${JSON.stringify(createOf(decisionOf(1000)))}\n`)
    expect([await erasing.next(), await erasing.next()]).toEqual(['committed', 'wiped'])
    for (const name of readdirSync(dataDir))
      expect(readFileSync(join(dataDir, name), 'latin1')).not.toContain('erased-fact')
  })

  it('refuses a commit when the disk is full, keeps reading, and writes again when there is room', async () => {
    const writing = start(20, 'ulimit -S -f 4096; exec "$0" "$@"')
    expect(await writing.next()).toBe('open')
    expect(await writing.nextOther()).toMatch(/^refused StoreUnavailableError /)
    expect(await writing.nextOther()).toBe(`read ${writing.acknowledged + 1}`)
    writing.child.stdin.write('try again, still full\n')
    expect(await writing.nextOther()).toMatch(/^refused StoreUnavailableError /)
    const whileFull = writing.acknowledged
    expect(await writing.nextOther()).toBe(`read ${whileFull + 1}`)

    execFileSync('prlimit', ['--pid', String(writing.child.pid), '--fsize=unlimited:unlimited'])
    writing.child.stdin.write('try again, with room\n')
    for (let commits = 0; commits < 20; commits += 1) expect(await writing.next()).toMatch(/^acknowledged /)
    expect(writing.acknowledged).toBe(whileFull + 20 * 20)
    await writing.kill()
    const store = await openSqliteStore({ dataDir })
    await expectWhole(store, writing.acknowledged)
    await store.close()
    expect(expectBalanced(dataDir)).toBeGreaterThan(0)
  })
})

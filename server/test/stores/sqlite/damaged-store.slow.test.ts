/** A store that the disk changed by a byte, or cut: it is refused with a sentence, or every answer is right; nothing aborts. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { Connection } from '#server/stores/sqlite/driver'
import { readThrough } from '#server/stores/sqlite/fault-report'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { LogPen } from '../../store-suite/index.js'
import { KEY_USES, SAMPLE } from './store-sample.js'

interface Damage {
  readonly file?: string
  readonly at?: number
  readonly xor?: number
  readonly cut?: number
  readonly append?: number
  readonly gone?: string
}

const program = (name: string) => fileURLToPath(new URL(`./processes/${name}`, import.meta.url))
const TIMEOUT_MS = 60_000 + 1000 * stress.store_damages
const DATABASE = 'countersign.db'
const REFUSED = /^refused DamagedStoreError \S+ is damaged \(.+\)\. Nothing was changed\. Restore a backup/

let folder: string
let closed: string
let killed: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-damage-'))
  closed = join(folder, 'closed')
  killed = join(folder, 'killed')
  mkdirSync(join(folder, 'copies'))
  const made = join(folder, 'made')
  const store = await openSqliteStore({ dataDir: made })
  const pen = await LogPen.of(store)
  // As many entries as give the decisions that are written behind them ids of their own.
  await pen.commit(...SAMPLE, { kind: 'entry.only' }, { kind: 'entry.only' })
  await store.keys.saveUses(KEY_USES)
  await store.secret('cursors')
  await store.close()
  // The library removes the other files when it collects its connections: not while they are being copied.
  for (const dataDir of [closed, killed]) {
    mkdirSync(dataDir)
    for (const file of [DATABASE, `${DATABASE}-sums`])
      cpSync(join(made, file), join(dataDir, file), { preserveTimestamps: true })
  }
  await writeAndDie(killed)
  // A commit behind those that the index tells of was on its way, and answered to nobody: whether it is read is chance.
  truncateSync(join(killed, `${DATABASE}-wal`), endOfLog())
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Behind the last frame of what was killed that the log's index tells of. */
function endOfLog(): number {
  const index = readFileSync(join(killed, `${DATABASE}-shm`))
  return 32 + index.readUInt32LE(16) * (24 + 4096)
}

/** Many records in the log, and the process that wrote them killed. */
async function writeAndDie(dataDir: string): Promise<void> {
  const child = spawn(process.execPath, [program('store-process.mjs'), dataDir, '6'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let commits = 0
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('acknowledged') && ++commits === 8) child.kill('SIGKILL')
  expect(commits).toBeGreaterThanOrEqual(8)
}

/** One process for all of them: if any aborts it, the rest has no answer. */
class Prober {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #ended: Promise<unknown>

  constructor(original: string) {
    this.#child = spawn(process.execPath, [program('damage-prober.mjs'), original, join(folder, 'copies')])
    this.#child.stderr.pipe(process.stderr)
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#ended = once(this.#child, 'close')
  }

  async probe(damage: Damage): Promise<string> {
    this.#child.stdin.write(`${JSON.stringify(damage)}\n`)
    const { value, done } = await this.#lines.next()
    if (done !== true) return value
    const [code, signal] = (await this.#ended) as [number | null, string | null]
    throw new Error(`${JSON.stringify(damage)} ended the process: ${code ?? signal}`)
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    expect(await this.#ended).toEqual([0, null])
  }
}

async function probing(original: string, work: (prober: Prober) => Promise<void>): Promise<void> {
  const prober = new Prober(original)
  await work(prober)
  await prober.end()
}

/** A byte, or in one of eight cases the end of the file, drawn from all bytes of the files. */
function drawDamage(original: string, files: readonly string[], random: () => number): Damage {
  const sizes = files.map((file) => statSync(join(original, file)).size)
  let at = Math.floor(random() * sizes.reduce((sum, size) => sum + size, 0))
  let chosen = 0
  for (; at >= (sizes[chosen] as number); chosen += 1) at -= sizes[chosen] as number
  const file = files[chosen] as string
  if (random() < 1 / 8) return { file, cut: at }
  return { file, at, xor: 1 + Math.floor(random() * 255) }
}

describe(`a store with one byte changed, or cut (seed ${SEED})`, () => {
  it.each([
    ['was closed', () => closed, [DATABASE, `${DATABASE}-sums`]],
    ['was killed', () => killed, [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, `${DATABASE}-sums`]],
  ])(
    'that %s is refused with a sentence, or reads as it was written',
    async (_, original, files) => {
      await probing(original(), async (prober) => {
        const right = await prober.probe({})
        expect(right).toMatch(/^read /)
        const random = seededRandom(SEED)
        let refused = 0
        for (let round = 0; round < stress.store_damages / 2; round += 1) {
          const damage = drawDamage(original(), files, random)
          const answer = await prober.probe(damage)
          if (answer === right) continue
          expect(answer, JSON.stringify(damage)).toMatch(REFUSED)
          refused += 1
        }
        console.log(
          `SEED=${SEED}: of ${stress.store_damages / 2} damages ${refused} were refused, all others read rightly`,
        )
        expect(refused).toBeGreaterThan(stress.store_damages / 8)
      })
    },
    TIMEOUT_MS,
  )

  it(
    'aborts nothing that an earlier release left, which kept no sums',
    async () => {
      const original = join(folder, 'without-sums')
      cpSync(closed, original, { recursive: true })
      rmSync(join(original, `${DATABASE}-sums`))
      await probing(original, async (prober) => {
        const random = seededRandom(SEED + 1)
        for (let round = 0; round < stress.store_damages / 10; round += 1)
          expect(await prober.probe(drawDamage(original, [DATABASE], random))).toMatch(/^(refused|read|could not read)/)
      })
    },
    TIMEOUT_MS,
  )
})

describe('a log that lost something', () => {
  let prober: Prober
  beforeAll(() => {
    prober = new Prober(killed)
  })
  afterAll(() => prober.end())

  it.each<[string, Damage]>([
    ['was cut', { file: `${DATABASE}-wal`, cut: 60_000 }],
    ['is empty', { file: `${DATABASE}-wal`, cut: 0 }],
    ['is gone', { gone: `${DATABASE}-wal` }],
    ['has another header', { file: `${DATABASE}-wal`, at: 20, xor: 1 }],
    ['has another byte in its last record', { file: `${DATABASE}-wal`, at: -100, xor: 1 }],
  ])('and %s is not taken for a shorter one', async (_, damage) => {
    const at = damage.at !== undefined && damage.at < 0 ? endOfLog() + damage.at : damage.at
    expect(await prober.probe({ ...damage, ...(at !== undefined && { at }) })).toMatch(REFUSED)
  })

  it('is the shorter one that it is, when a record was on its way', async () => {
    expect(await prober.probe({ file: `${DATABASE}-wal`, append: 50 })).toBe(await prober.probe({}))
  })
})

describe('a sound store in an odd state starts', () => {
  const path = (dataDir: string, suffix: string) => join(dataDir, `${DATABASE}${suffix}`)
  const newDirectory = () => mkdtempSync(join(folder, 'odd-'))
  const note = 'x'.repeat(1_000_000)
  const writeMuch = async (store: Store, times: number) => {
    const pen = await LogPen.of(store)
    for (let i = 0; i < times; i += 1) await pen.commit({ change: { kind: 'entry.only' }, entry: { data: { note } } })
  }

  it('stopped in order, beside an index that a loss of power left as it was before', async () => {
    const dataDir = newDirectory()
    const store = await openSqliteStore({ dataDir })
    await (await LogPen.of(store)).commit({ kind: 'entry.only' })
    const index = readFileSync(path(dataDir, '-shm'))
    expect(index.readUInt32LE(16)).toBeGreaterThan(index.readUInt32LE(96))
    await store.close()
    const copy = newDirectory()
    for (const suffix of ['', '-sums']) cpSync(path(dataDir, suffix), path(copy, suffix))
    writeFileSync(path(copy, '-shm'), index)
    writeFileSync(path(copy, '-wal'), '')
    await (await openSqliteStore({ dataDir: copy })).close()
  })

  it('with a log of more pages than a call has arguments, read with a small stack', () => {
    const dataDir = newDirectory()
    const start = (...options: string[]) =>
      spawnSync(process.execPath, [...options, program('large-log.mjs'), dataDir, ...options], { encoding: 'utf8' })
    expect(start().signal).toBe('SIGKILL')
    expect(statSync(path(dataDir, '-wal')).size).toBeGreaterThan(40_000_000)
    expect(start('--stack-size=100')).toMatchObject({ status: 0, stderr: '', stdout: 'open\n' })
  })

  it('written by another process before the library closed the connections of the one that made it', () => {
    const options = ['--expose-gc', program('late-close.mjs'), newDirectory()]
    const made = spawnSync(process.execPath, options, { encoding: 'utf8' })
    expect(made).toMatchObject({ status: 0, stderr: '', stdout: 'open\n' })
  })

  it('whose sums were removed while it worked, before and behind the first that it writes', async () => {
    const dataDir = newDirectory()
    const store = await openSqliteStore({ dataDir })
    rmSync(path(dataDir, '-sums'))
    await writeMuch(store, 20)
    await store.close()
    const second = await openSqliteStore({ dataDir })
    await writeMuch(second, 1)
    rmSync(path(dataDir, '-sums'))
    await writeMuch(second, 20)
    expect(statSync(path(dataDir, '-sums')).size).toBeGreaterThan(4 * 4000)
    await second.close()
    await (await openSqliteStore({ dataDir })).close()
  })
})

describe('a store that could not be read through', () => {
  const reading = (dataDir: string) => {
    cpSync(closed, dataDir, { recursive: true })
    rmSync(join(dataDir, `${DATABASE}-sums`))
    return openSqliteStore({ dataDir })
  }

  it.each([
    ['was killed', 'process.kill(process.pid,"SIGKILL")', /could not be checked \(.+ SIGKILL\)/],
    [
      'ran out of memory',
      'console.error("out of memory");process.abort()',
      /could not be checked \(.+ SIGABRT: .*memory/,
    ],
    ['did not start', 'throw new Error("no room")', /could not be checked \(.+ exit code 1: .*no room/],
  ])('because the process that read it %s is not said to be damaged', async (_, code, says) => {
    const dataDir = mkdtempSync(join(folder, 'unchecked-'))
    const before = process.env.NODE_OPTIONS
    process.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(code)}`
    try {
      await expect(reading(dataDir)).rejects.toThrow(says)
    } finally {
      if (before === undefined) delete process.env.NODE_OPTIONS
      else process.env.NODE_OPTIONS = before
    }
    await (await openSqliteStore({ dataDir })).close()
  })

  it('because it cannot be opened is not said to be damaged', async () => {
    await expect(readThrough(join(folder, 'none.db'))).rejects.toThrow(/could not be checked/)
  })
})

describe('a text that is not UTF-8, which the library aborts on', () => {
  const spoil = (dataDir: string, isSummed: boolean) => {
    const db = Connection.open(join(dataDir, DATABASE))
    db.execute("UPDATE agents SET document = CAST(x'7b22ff227d' AS TEXT) WHERE rowid = 1")
    db.close()
    if (!isSummed) rmSync(join(dataDir, `${DATABASE}-sums`))
  }

  it.each([
    ['named by its row where there are no sums', false, /agents, row 1: document contains text that is not UTF-8/],
    ['noticed by its page where there are', true, /page \d+ (differs from what was written|was added)/],
  ])('is %s', async (_, isSummed, says) => {
    const dataDir = mkdtempSync(join(folder, 'spoilt-'))
    cpSync(closed, dataDir, { recursive: true })
    spoil(dataDir, isSummed)
    await expect(openSqliteStore({ dataDir })).rejects.toThrow(says)
  })
})

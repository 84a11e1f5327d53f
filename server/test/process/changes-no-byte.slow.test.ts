/** `doctor`, and a start that is refused, leave every file as it was, with its bytes and its name. */
import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const HASHED = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** By name: what each file of the directory is. */
function filesIn(dataDir: string): Record<string, string> {
  const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(names.map((name) => [name, describeFile(join(dataDir, name))]))
}

function describeFile(path: string): string {
  const { mode } = statSync(path)
  return statSync(path).isDirectory() ? `folder ${mode}` : `${mode} ${HASHED(path)}`
}

async function run(dataDir: string, ...args: string[]): Promise<number | null> {
  const child = countersign(args, { env: { DATA_DIR: dataDir, PORT: '0' } })
  return (await child.end(60_000)).code
}

/** A data directory that a server has left: in order, or killed. */
async function usedDirectory(how: How): Promise<string> {
  const dataDir = newDirectory()
  const server = await ShippedServer.start({ dataDir })
  await server[how === 'stop' || how === 'copy of the database alone' ? 'stop' : 'kill']()
  if (how === 'copy of the database alone')
    for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `countersign.db${suffix}`), { force: true })
  if (how === 'copy without the index of its log') rmSync(join(dataDir, 'countersign.db-shm'))
  if (how === 'copy of the database and its log alone')
    for (const suffix of ['-shm', '-sums']) rmSync(join(dataDir, `countersign.db${suffix}`))
  return dataDir
}

const HOW = [
  'stop',
  'kill',
  'copy of the database alone',
  'copy without the index of its log',
  'copy of the database and its log alone',
] as const
type How = (typeof HOW)[number]

/** There SQLite makes the index again, for `doctor` holds no lock under which it could take that back. */
const DOCTORED = HOW.filter(
  (how) => !['copy without the index of its log', 'copy of the database and its log alone'].includes(how),
)

describe('doctor', () => {
  it.each(DOCTORED)('changes no byte of a directory after a %s', async (how) => {
    const dataDir = await usedDirectory(how)
    const before = filesIn(dataDir)
    expect(await run(dataDir, 'doctor')).toBe(0)
    expect(filesIn(dataDir)).toEqual(before)
    expect(await run(dataDir, 'doctor', '--deep')).toBe(0)
    expect(filesIn(dataDir)).toEqual(before)
  })
})

const REFUSED: Readonly<Record<string, (dataDir: string) => void>> = {
  'that has lost entries': (dataDir) => {
    const file = join(dataDir, 'signing-keys.json')
    const keys = JSON.parse(readFileSync(file, 'utf8'))
    const { log, index } = keys.newest_entry ?? { log: 'gone', index: 0 }
    writeFileSync(file, JSON.stringify({ ...keys, newest_entry: { log, index: index + 100 } }))
  },
  'whose keys are damaged': (dataDir) => writeFileSync(join(dataDir, 'signing-keys.json'), '{'),
  'whose keys are open to others': (dataDir) => chmodSync(join(dataDir, 'signing-keys.json'), 0o644),
  'with a damaged page': (dataDir) => {
    const file = join(dataDir, 'countersign.db')
    const bytes = readFileSync(file)
    bytes[bytes.length - 100] = (bytes.at(-100) as number) ^ 1
    writeFileSync(file, bytes)
  },
}

describe('a refused start', () => {
  // Without sums nobody can tell that a text on a page is another one.
  const isRefused = (what: string, how: How) =>
    what !== 'with a damaged page' || how !== 'copy of the database and its log alone'
  const cases = Object.keys(REFUSED).flatMap((what) =>
    HOW.filter((how) => isRefused(what, how)).map((how) => [what, how] as const),
  )
  it.each(cases)('changes no byte of a directory %s, after a %s', async (what, how) => {
    const dataDir = await usedDirectory(how)
    REFUSED[what]?.(dataDir)
    const before = filesIn(dataDir)
    expect(await run(dataDir, 'serve')).toBe(1)
    expect(filesIn(dataDir)).toEqual(before)
  })
})

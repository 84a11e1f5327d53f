/** Each row of the table "The log" in docs/security.md: who finds the change is found by doing it, and running what the row names. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stress, until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { writeLog, writeLogs } from '../audit-logs.js'
import { forgetTrees, type Intruder, intruderOf } from '../intruder.js'
import { ON_MONGODB } from '../open-test-store.js'
import { endChildren } from '../process/child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from '../process/shipped-server.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/security.md', import.meta.url)), 'utf8')

interface Row {
  readonly change: string
  /** Each as the page names it: a command with its exit code, or the log of the server. */
  readonly finders: readonly { readonly what: string; readonly code: number | null }[]
}

const rows: readonly Row[] = rowsBelow('### The log')

function rowsBelow(heading: string): Row[] {
  const [, section = ''] = PAGE.split(`${heading}\n`)
  const lines = (section.split(/^#/m)[0] as string).split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) => {
    const [change = '', finders = ''] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    return { change, finders: finders.split('; ').map(finderOf) }
  })
}

function finderOf(text: string) {
  const [, what = text, code] = /^`(.+)`: (\d)$/.exec(text) ?? []
  return { what, code: code === undefined ? null : Number(code) }
}

/** What two servers after each other have left, of which the second one runs no more. */
interface Scene {
  readonly dataDir: string
  readonly intruder: Intruder
  /** That of the first server, which nobody writes any more. */
  readonly log: string
  readonly putStoreBack: () => Promise<void>
  /** What the reader of the trees had stored when the first server ended. */
  readonly earlierTrees: string
  /** The data directory as the first server left it. */
  readonly copiedDataDir: string
  /** The key set and a checkpoint that somebody else keeps. */
  readonly jwks: string
  readonly kept: string
}

const CHANGED = (entry: { readonly actor: string | null }) => ({ ...entry, actor: 'key_nobody' }) as never

const CHANGES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  'An entry is changed': ({ intruder, log }) => intruder.changeEntry(log, 1, CHANGED, true),
  'An entry is changed together with its hash': ({ intruder, log }) => intruder.changeEntry(log, 1, CHANGED),
  'An entry is removed from the middle of a log': ({ intruder, log }) => intruder.removeEntries(log, 1),
  'An entry is removed that is under no checkpoint yet': async ({ dataDir, intruder }) =>
    intruder.removeEntries(await writeLog(dataDir, 3), 1),
  'All entries of one server are removed': ({ intruder, log }) => intruder.removeEntries(log),
  'An entry is changed, and the trees, the checkpoints and the reader `trees` are removed': async ({
    intruder,
    log,
  }) => {
    await intruder.changeEntry(log, 1, CHANGED)
    await forgetTrees(intruder)
  },
  'All entries of one server, and all checkpoints, are removed': async ({ intruder, log }) => {
    await intruder.removeEntries(log)
    await forgetTrees(intruder)
  },
  'The checkpoints are removed': ({ intruder }) => intruder.removeCheckpoints(),
  '`checkpoints.ndjson` is removed': async ({ dataDir }) => rmSync(join(dataDir, 'checkpoints.ndjson')),
  '`checkpoints.ndjson`, the trees, the checkpoints and the reader `trees` are removed': async ({
    dataDir,
    intruder,
  }) => {
    rmSync(join(dataDir, 'checkpoints.ndjson'))
    await forgetTrees(intruder)
  },
  'The reader `trees` is put back to an earlier state': ({ intruder, earlierTrees }) =>
    intruder.writeTrees(earlierTrees),
  'The nodes of the trees are removed': async ({ dataDir, intruder }) => {
    // A tree has stored nodes from 256 leaves on.
    await writeLogs(dataDir, 1, 300)
    const server = await start(dataDir)
    await signed(server)
    await server.stop()
    await intruder.removeNodes()
  },
  'The reader `trees` is removed': ({ intruder }) => intruder.removeReader(),
  'The whole store is put back to a copy': ({ putStoreBack }) => putStoreBack(),
  'The whole store and `DATA_DIR` are put back to a copy': async ({ putStoreBack, copiedDataDir, dataDir }) => {
    await putStoreBack()
    for (const name of ['signing-keys.json', 'checkpoints.ndjson', 'known-signing-keys.json'])
      cpSync(join(copiedDataDir, name), join(dataDir, name))
  },
  '`signing-keys.json` is removed': async ({ dataDir }) => rmSync(join(dataDir, 'signing-keys.json')),
  '`signing-keys.json` is exchanged for that of another server': async ({ dataDir }) => {
    const other = newDirectory()
    await (await ShippedServer.start({ dataDir: other })).stop()
    const foreign = JSON.parse(readFileSync(join(other, 'signing-keys.json'), 'utf8'))
    const file = join(dataDir, 'signing-keys.json')
    const { newest_entry } = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...foreign, newest_entry }))
  },
  '`signing-keys.json` of two servers on one MongoDB are exchanged': async ({ dataDir }) => {
    const other = newDirectory()
    await (await ShippedServer.start({ dataDir: other, env: envOf(dataDir) })).stop()
    const [own, others] = [dataDir, other].map((folder) => join(folder, 'signing-keys.json')) as [string, string]
    const kept = readFileSync(own)
    cpSync(others, own)
    writeFileSync(others, kept)
  },
}

const databases: string[] = []
afterEach(async () => {
  await endChildren()
  removeDirectories()
  if (ON_MONGODB) for (const name of databases.splice(0)) await dropDatabase(name)
})

const envOf = (dataDir: string) => ({
  ISSUER: 'https://decide.example',
  ...(ON_MONGODB && { MONGODB_URL: mongoUrl(basename(dataDir)) }),
})
const start = (dataDir: string) => ShippedServer.start({ dataDir, env: envOf(dataDir) })

/** Everything that this server has written is under a checkpoint. Gives the log. */
async function signed(server: ShippedServer): Promise<string> {
  const { body } = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'mail.send' } })
  const [entry] = (await server.call('GET', `/v1/audit?decision_id=${body.id}`)).body.data
  await until('a checkpoint', async () => {
    const { body: shown } = await server.call('GET', '/v1/audit/checkpoints')
    return shown.data?.some(({ log, size }: never) => log === entry.log && size > entry.index) || undefined
  })
  return entry.log
}

async function run(dataDir: string, args: readonly string[]) {
  const env = { COUNTERSIGN_API_KEY: CHOSEN_KEY, PORT: '0', DATA_DIR: dataDir, ...envOf(dataDir) }
  const child = countersign(args, { env })
  const { code } = await child.end(60_000)
  return { code, said: child.stdout + child.stderr }
}

async function prepare(): Promise<Scene> {
  const [dataDir, folder] = [newDirectory(), newDirectory()]
  databases.push(basename(dataDir))
  const first = await start(dataDir)
  const log = await signed(first)
  await first.stop()
  const intruder = intruderOf(dataDir)
  const putStoreBack = await intruder.copyStore()
  const earlierTrees = (await intruder.readTrees()) as string
  const copiedDataDir = mkdtempSync(join(folder, 'copied-'))
  cpSync(dataDir, copiedDataDir, { recursive: true })
  await writeLogs(dataDir, 1, 3)
  const second = await start(dataDir)
  await signed(second)
  const [jwks, kept] = [join(folder, 'jwks'), join(folder, 'kept')]
  writeFileSync(jwks, await (await fetch(`${second.url}/.well-known/jwks.json`)).text())
  const witness = ['audit', 'export', '--checkpoint-only', '--witness', kept, '--url', second.url]
  expect(await run(dataDir, witness)).toMatchObject({ code: 0 })
  await second.stop()
  return { dataDir, intruder, log, putStoreBack, earlierTrees, copiedDataDir, jwks, kept }
}

/** What is named in the table, as a function of the scene: without a server, then with the next one. */
async function findings({ dataDir, jwks, kept }: Scene, named: ReadonlySet<string>) {
  const found = new Map<string, { readonly code: number | null; readonly said: string }>()
  for (const command of ['doctor', 'doctor --deep', 'audit export --offline'])
    if (named.has(`countersign ${command}`)) {
      const { code, said } = await run(dataDir, command.split(' '))
      // The test server of MongoDB is no replica set, which is a problem of its own.
      const isNamed = /^problem +(?:audit log|signing keys|files|store +(?!.*replica set)) /m.test(said)
      found.set(`countersign ${command}`, { code: isNamed || !command.startsWith('doctor') ? code : 0, said })
    }
  if (named.has('countersign audit verify --records --offline'))
    found.set(
      'countersign audit verify --records --offline',
      await run(dataDir, ['audit', 'verify', '--records', '--offline', '--jwks', jwks]),
    )
  if (named.has('countersign serve')) return found.set('countersign serve', await run(dataDir, ['serve']))
  const server = await start(dataDir)
  const out = join(mkdtempSync(join(tmpdir(), 'finds-')), 'export')
  await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'mail.send' } })
  const exported = await run(dataDir, ['audit', 'export', '--url', server.url, '--out', out])
  found.set('countersign audit export', exported)
  const errors = server.lines.filter(({ level }) => level === 'error')
  found.set('the log of the server', { code: errors.length > 0 ? null : 0, said: JSON.stringify(errors) })
  const verify = ['audit', 'verify', out, '--jwks', jwks]
  if (named.has('countersign audit verify')) found.set('countersign audit verify', await run(dataDir, verify))
  if (named.has('countersign audit verify --kept'))
    found.set('countersign audit verify --kept', await run(dataDir, [...verify, '--kept', kept]))
  await server.stop()
  return found
}

describe('who finds which change of the log', () => {
  it('has a case for each row of the page, and a row for each case', () => {
    expect(rows.map(({ change }) => change)).toEqual(Object.keys(CHANGES))
  })

  it('finds nothing where nobody has changed anything', async () => {
    const named = new Set(rows.flatMap(({ finders }) => finders.map(({ what }) => what)))
    // A server that starts goes on.
    named.delete('countersign serve')
    const found = await findings(await prepare(), named)
    for (const what of named) expect([what, found.get(what)]).toEqual([what, expect.objectContaining({ code: 0 })])
  }, 120_000)

  const isTried = ({ change }: { readonly change: string }, i: number) =>
    change.includes('MongoDB')
      ? ON_MONGODB
      : i % (ON_MONGODB ? stress.edits_for_each_on_mongodb : stress.edits_for_each) === 0
  it.each(rows.filter(isTried))(
    '$change',
    async ({ change, finders }) => {
      const scene = await prepare()
      await CHANGES[change]?.(scene)
      const found = await findings(scene, new Set(finders.map(({ what }) => what)))
      for (const { what, code } of finders)
        expect([what, found.get(what)]).toEqual([what, expect.objectContaining({ code })])
    },
    120_000,
  )
})

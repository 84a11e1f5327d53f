/** Seen from the kernel: an answer leaves only after its record is on the disk. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { descendants, endChildren } from './child.js'
import { MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'
import { durabilityFault, type Step, stepsOf } from './trace.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CALLS = 'pwrite64,pwritev,write,writev,sendto,sendmsg,fsync,fdatasync'

const probe = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { encoding: 'utf8' })
const cannotTrace = probe.status === 0 ? null : (probe.error?.message ?? probe.stderr.trim())
if (cannotTrace !== null) console.log(`skipped: strace cannot run here (${cannotTrace})`)

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Asks for decisions, alone and many at once, and gives their ids with what the kernel saw. */
async function traceDecisions(main: string) {
  const directory = newDirectory()
  const output = join(directory, 'trace')
  const strace = ['-f', '-y', '-s', '8192', '-e', `trace=${CALLS}`, '-e', 'signal=none', '-o', output]
  const program = { command: 'strace', args: [...strace, process.execPath, main, 'serve'] }
  const server = await ShippedServer.start({ dataDir: join(directory, 'data'), program })
  const policy = { name: 'everything', rules: [{ action: 'payment.*', effect: 'allow' }] }
  await server.call('POST', '/v1/policies', { body: policy })
  const ask = async (): Promise<string> => {
    const body = { agent_id: 'agent:a', action: 'payment.refund' }
    const answer = await server.call('POST', '/v1/decisions', { body })
    expect(answer).toMatchObject({ status: 200, body: { effect: 'allow' } })
    return answer.body.id
  }
  const ids: string[] = []
  for (let i = 0; i < 5; i += 1) ids.push(await ask())
  for (let i = 0; i < 4; i += 1) ids.push(...(await Promise.all(Array.from({ length: 10 }, ask))))
  await server.call('GET', `/v1/audit/proof?decision_id=${ids.at(-1)}`)
  for (const pid of descendants(server.pid)) process.kill(pid, 'SIGTERM')
  await server.end()
  return { ids, steps: stepsOf(readFileSync(output, 'utf8')) }
}

/** Whether each write to what the server remembers of its checkpoints was followed by a sync, and how many there were. */
function syncsOfMemory(steps: readonly Step[]): { readonly areSynced: boolean; readonly writes: number } {
  const calls = steps
    .filter(({ at, ok, target }) => at === 'end' && ok && target.endsWith('/checkpoints.ndjson'))
    .map(({ call }) => (/sync$/.test(call) ? 'sync' : 'write'))
  const writes = calls.filter((call) => call === 'write').length
  return { areSynced: !/write(?! sync)/.test(calls.join(' ')), writes }
}

/** The built server with another text in one file. */
function patchedServer(file: string, from: string, to: string): string {
  const directory = newDirectory()
  mkdirSync(join(directory, 'server'))
  for (const name of ['dist', 'package.json'])
    cpSync(join(ROOT, 'server', name), join(directory, 'server', name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  const path = join(directory, 'server', 'dist', file)
  const text = readFileSync(path, 'utf8')
  expect(text.split(from)).toHaveLength(2)
  writeFileSync(path, text.replace(from, to))
  return join(directory, 'server', 'dist', 'cli', 'main.js')
}

describe.skipIf(cannotTrace !== null)('under strace', () => {
  it('each answer leaves after a sync of its record has ended', async () => {
    const { ids, steps } = await traceDecisions(MAIN)
    expect(ids).toHaveLength(45)
    expect(ids.map((id) => durabilityFault(steps, id)).filter((fault) => fault !== null)).toEqual([])
    const syncs = steps.filter(
      ({ call, at, target }) => at === 'end' && /sync$/.test(call) && target.endsWith('.db-wal'),
    )
    console.log(`${ids.length} decisions; ${syncs.length} syncs of the database's log in the whole life of the server`)
  })

  it('the same check notices a store that does not wait for the disk', async () => {
    const { ids, steps } = await traceDecisions(
      patchedServer('stores/sqlite/schema.js', 'PRAGMA synchronous = FULL', 'PRAGMA synchronous = OFF'),
    )
    const faults = ids.map((id) => durabilityFault(steps, id))
    expect(new Set(faults)).toEqual(new Set(['answered before a sync of its record had ended']))
  })

  it('what a server remembers of its checkpoints is on the disk before it goes on', async () => {
    const { steps } = await traceDecisions(MAIN)
    expect(syncsOfMemory(steps)).toMatchObject({ areSynced: true })
    expect(syncsOfMemory(steps).writes).toBeGreaterThan(0)
  })

  it('the same check notices a memory that does not wait for the disk', async () => {
    const file = 'adapters/checkpoint-memory/checkpoint-file.js'
    const { steps } = await traceDecisions(patchedServer(file, 'await file.sync()', ''))
    expect(syncsOfMemory(steps)).toMatchObject({ areSynced: false })
  })
})

/** After a restore the root log goes on under another name, and what was kept of the former one can be checked up to the backup. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Checkpoint, IncompleteError, ProofError, parseCheckpoint, parseNote } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { rememberRestore } from '#server/adapters/checkpoint-memory/checkpoint-file'
import { serverSource } from '#server/cli/audit/audit-source'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { verifyExport } from '#server/cli/audit/verify-export'
import { giveToWitnesses } from '#server/cli/audit/witness'
import { backUpStore } from '#server/stores/sqlite/backup'
import { restoreStore } from '#server/stores/sqlite/restore'
import { keySetOf } from '../audit-logs.js'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, decide, REFUNDS, succeed } from './refunds.js'

/** Each server has a port of its own. */
const SETTINGS = { issuer: 'https://decide.example' }

let folder: string
let server: RunningServer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'restored-root-'))
  server = await runServer({ settings: SETTINGS })
  await createPolicy(server, REFUNDS)
  vi.stubEnv('COUNTERSIGN_API_KEY', server.key)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** The checkpoint of the root log after one more decision. */
async function nextRoot(): Promise<Checkpoint> {
  return checkpointOf(await nextNote())
}

const checkpointOf = (note: string) => parseCheckpoint(parseNote(note).text)

async function nextNote(): Promise<string> {
  const { id } = await decide(server, ALLOWED)
  const [entry] = (await succeed(server.call('GET', `/v1/audit?decision_id=${id}`))).data
  const { note }: { readonly note: string } = await until('a checkpoint', async () => {
    const { data, root } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
    const own = data.find(({ log }: { readonly log: string }) => log === entry.log)
    return own?.size > entry.index ? root : undefined
  })
  return note
}

async function verified(...kept: Checkpoint[]) {
  const file = join(folder, 'export.ndjson')
  const text: string = await succeed(server.call('GET', '/v1/audit/export'))
  writeFileSync(file, text)
  return verifyExport({ file, keys: trustedKeysOf(await keySetOf(server)), kept, budgets: [] })
}

/** Lets the command look whether the root log goes on from what a file keeps. */
async function given(...notes: string[]): Promise<unknown> {
  const file = join(folder, 'kept.txt')
  writeFileSync(file, notes.join(''))
  const giving = giveToWitnesses(serverSource(server.url), { files: [file], urls: [], keys: [] })
  const done = await giving.then(
    () => null,
    (error) => error,
  )
  if (done !== null) expect(readFileSync(file, 'utf8')).toBe(notes.join(''))
  return done
}

/** Restores into a folder of its own, with the keys and, if told, with what the former server remembers. */
async function restore(backup: string, also: readonly string[] = []): Promise<void> {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  for (const name of ['signing-keys.json', ...also]) cpSync(join(server.dataDir, name), join(dataDir, name))
  await restoreStore(backup, dataDir)
  await rememberRestore(dataDir)
  const { clock, stop } = server
  await server.started.stop()
  const next = await runServer({ dataDir, clock, settings: SETTINGS })
  server = { ...next, stop: () => next.stop().then(stop) }
}

it.each([[[]], [['checkpoints.ndjson']]])('names the former root log, with %j of the former server', async (also) => {
  const before = await nextRoot()
  const backup = join(folder, 'backup')
  await backUpStore(join(server.dataDir, 'countersign.db'), backup)
  const lost = await nextRoot()
  await restore(backup, also)
  const after = await nextRoot()
  expect(after.origin).toMatch(new RegExp(`^${before.origin.replaceAll('.', '\\.')}\\.[\\w-]{8}$`))
  const found = await verified(before, after)
  expect(found).toMatchObject({
    result: 'intact',
    details: { root: { origin: after.origin }, former_roots: [{ origin: before.origin, size: before.size }] },
  })
  const incomplete = await verified(before, lost, after)
  expect(incomplete).toMatchObject({ result: 'incomplete' })
  expect(incomplete.lines[0]).toContain(`the store was restored to ${before.size} of them`)
  const changed = { ...before, root: before.root.map((byte) => byte ^ 1) }
  expect(await verified(changed)).toMatchObject({ result: 'tampered' })
  expect(await verified({ ...after, origin: `${before.origin}.elsewhere` })).toMatchObject({ result: 'tampered' })

  server = await server.restart()
  expect((await nextRoot()).origin).toBe(after.origin)
  expect(await verified(before, after)).toMatchObject({ result: 'intact' })
})

it('says of a file with a checkpoint that is newer than the backup what `verify --kept` says', async () => {
  const before = await nextNote()
  const backup = join(folder, 'backup')
  await backUpStore(join(server.dataDir, 'countersign.db'), backup)
  const lost = await nextNote()
  expect(await given(before, lost)).toBeNull()
  await restore(backup)
  const kept = [before, lost].map(checkpointOf)
  // Also when the root log has grown beyond it.
  for (let size = 0; size <= (kept[1]?.size ?? 0); size = (await nextRoot()).size) {
    const said = await given(before, lost)
    expect(said).toBeInstanceOf(IncompleteError)
    const [line] = (await verified(...kept)).lines
    expect((said as Error).message).toContain(line)
  }
  expect(await given(before)).toBeNull()
  // Not when the file has another past than the log up to the backup.
  const [, , root = ''] = before.split('\n')
  expect(await given(before.replace(root, `${root[0] === 'A' ? 'B' : 'A'}${root.slice(1)}`), lost)).toBeInstanceOf(
    ProofError,
  )
})

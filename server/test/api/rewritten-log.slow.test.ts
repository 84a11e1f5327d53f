/** Somebody rewrites the log in the database, without the signing keys: no server signs what he has made. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { readResult, submitCommand, withdrawCommand } from '#server/adapters/admin-command-spool/spool'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { verifyExport } from '#server/cli/audit/verify-export'
import type { CommandResult } from '#server/ports/admin-command'
import { keySetOf, writeLog, writeLogs } from '../audit-logs.js'
import { forgetTrees, intruderOf } from '../intruder.js'
import { type RunningServer, runServer } from '../running-server.js'
import { signAsStranger } from '../stranger.js'
import { ALLOWED, createPolicy, decide, everyItem, REFUNDS, succeed } from './refunds.js'

let server: RunningServer
afterEach(async () => {
  await server.stop()
})

const ASKED = ['checkpoints', 'consistency?from=1', 'export'] as const

interface SignedLog {
  readonly log: string
  readonly index: number
  readonly decision: string
}

/** A log with entries that are under a checkpoint. */
async function signedLog(): Promise<SignedLog> {
  server = await runServer({ settings: { issuer: 'https://decide.example' } })
  await createPolicy(server, REFUNDS)
  const { id } = await decide(server, ALLOWED)
  const [entry] = await everyItem(server, `/v1/audit?decision_id=${id}`)
  await signedSize(entry.log, entry.index + 1)
  return { log: entry.log, index: entry.index, decision: id }
}

function signedSize(log: string, least: number): Promise<number> {
  return until('a checkpoint', async () => {
    const { data } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
    const { size = 0 } = data.find((one: { readonly log: string }) => one.log === log) ?? {}
    return size >= least ? size : undefined
  })
}

/** Changes what the first decision asked for, and removes what shows it. */
async function rewrite({ log, index }: SignedLog): Promise<void> {
  const intruder = intruderOf(server.dataDir)
  await intruder.changeEntry(log, index, (entry) => ({ ...entry, data: { ...entry.data, effect: 'deny' } }))
  await forgetTrees(intruder)
}

async function expectRefused(decision: string): Promise<void> {
  for (const asked of [...ASKED, `proof?decision_id=${decision}`]) {
    const { status, body } = await server.call('GET', `/v1/audit/${asked}`)
    expect({ asked, status, code: body?.code }).toEqual({ asked, status: 409, code: 'log_rewritten' })
  }
  expect((await server.call('GET', '/readyz', { key: null })).status).toBe(200)
  expect((await decide(server, ALLOWED)).effect).toBe('allow')
  const { text } = await metrics()
  expect(text).toMatch(/^countersign_audit_log_rewritten 1$/m)
  const said = server.logged.filter(({ level, message }) => level === 'error' && message.includes('accept-rewrite'))
  expect(said).toHaveLength(1)
}

async function metrics() {
  const answer = await fetch(`${server.url}/metrics`)
  return { text: await answer.text() }
}

/** What `countersign audit accept-rewrite` asks of a server that runs. */
async function accept(): Promise<CommandResult | null> {
  const path = await submitCommand(server.dataDir, { audit: 'accept-rewrite' })
  await until('a result', async () => (await readResult(path)) ?? undefined)
  return withdrawCommand(path)
}

const verified = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rewritten-'))
  const file = join(folder, 'export.ndjson')
  writeFileSync(file, (await succeed(server.call('GET', '/v1/audit/export'))) as string)
  const keys = trustedKeysOf(await keySetOf(server))
  return verifyExport({ file, keys, kept: [], budgets: [] }).finally(() => rmSync(folder, { recursive: true }))
}

describe('a rewritten log', () => {
  it('is not signed by the server that runs', async () => {
    const signed = await signedLog()
    await rewrite(signed)
    await expectRefused(signed.decision)
  })

  it('is not signed by the next server', async () => {
    const signed = await signedLog()
    server = await server.restart({ meanwhile: () => rewrite(signed) })
    await expectRefused(signed.decision)
  })

  it('is signed under another root log when the operator accepts it, and an entry tells of it', async () => {
    const signed = await signedLog()
    expect(await accept()).toMatchObject({ refused: expect.stringContaining('nothing to accept') })
    const former = (await succeed(server.call('GET', '/v1/audit/checkpoints'))).root.origin
    await rewrite(signed)
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    const [entry] = await everyItem(server, '/v1/audit?type=log.rewrite_accepted')
    expect(entry).toMatchObject({
      actor: null,
      subject: 'root',
      data: { found: expect.stringContaining('has signed') },
    })
    const { root } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
    expect(root.origin).toMatch(new RegExp(`^${former}\\.[\\w-]{8}$`))
    expect(await verified()).toMatchObject({ result: 'intact' })
    expect((await metrics()).text).toMatch(/^countersign_audit_log_rewritten 0$/m)
    server = await server.restart()
    await decide(server, ALLOWED)
    expect(await verified()).toMatchObject({ result: 'intact', details: { root: { origin: root.origin } } })
  })

  it('is signed as the store has it, also where the server that accepts it wrote it last', async () => {
    const signed = await signedLog()
    // More than the trees read at a time.
    const later = await Promise.all(Array.from({ length: 300 }, () => decide(server, ALLOWED)))
    const [last] = await everyItem(server, `/v1/audit?decision_id=${later.at(-1)?.id}`)
    await signedSize(signed.log, last.index + 1)
    await rewrite({ ...signed, index: last.index })
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    expect(await verified()).toMatchObject({ result: 'intact' })
  })

  it('is found when the trees are put back as they were before', async () => {
    const signed = await signedLog()
    const intruder = intruderOf(server.dataDir)
    const before = (await intruder.readTrees()) as string
    await decide(server, ALLOWED)
    await signedSize(signed.log, signed.index + 2)
    server = await server.restart({ meanwhile: () => intruder.writeTrees(before) })
    await expectRefused(signed.decision)
  })

  it('is found when all entries of a log are gone that nobody writes any more', async () => {
    const signed = await signedLog()
    server = await server.restart({
      async meanwhile(dataDir) {
        await writeLogs(dataDir, 1, 5)
      },
    })
    await decide(server, ALLOWED)
    await until('two logs under checkpoints', async () => {
      const { data } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
      return data.length > 1 || undefined
    })
    await intruderOf(server.dataDir).removeEntries(signed.log)
    const { status, body } = await server.call('GET', '/v1/audit/export')
    expect({ status, ...body }).toMatchObject({ status: 409, code: 'log_rewritten' })
    expect(body.detail).toContain(`of log ${signed.log} is under a checkpoint, and the store lacks it.`)
    expect((await decide(server, ALLOWED)).effect).toBe('allow')
  })

  it('is found by a server whose memory is damaged: it signs nothing until that is accepted', async () => {
    const signed = await signedLog()
    server = await server.restart({
      async meanwhile(dataDir) {
        const file = join(dataDir, 'checkpoints.ndjson')
        writeFileSync(file, readFileSync(file, 'utf8').replace('"size"', '"sïze"'))
      },
    })
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    expect(await verified()).toMatchObject({ result: 'intact' })
  })

  it('is found when trees of a root log come back that was given up, and their root log is never signed again', async () => {
    const signed = await signedLog()
    const intruder = intruderOf(server.dataDir)
    const former = (await intruder.readTrees()) as string
    const origins = [(await succeed(server.call('GET', '/v1/audit/checkpoints'))).root.origin]
    await rewrite(signed)
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    origins.push((await succeed(server.call('GET', '/v1/audit/checkpoints'))).root.origin)
    server = await server.restart({ meanwhile: () => intruder.writeTrees(former) })
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    origins.push((await succeed(server.call('GET', '/v1/audit/checkpoints'))).root.origin)
    expect(new Set(origins).size, String(origins)).toBe(3)
  })

  it('is not followed after a crash between saving and noting it, when somebody else has signed it', async () => {
    const signed = await signedLog()
    const intruder = intruderOf(server.dataDir)
    const before = (await intruder.readTrees()) as string
    const { root } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
    await decide(server, ALLOWED)
    await signedSize(signed.log, signed.index + 2)
    server = await server.restart({
      async meanwhile(dataDir) {
        const file = join(dataDir, 'checkpoints.ndjson')
        const text = readFileSync(file, 'utf8')
        const noted = '{"saved":true}\n'
        expect(text.endsWith(noted)).toBe(true)
        writeFileSync(file, text.slice(0, -noted.length))
        await intruder.writeTrees(before)
        await intruder.removeCheckpoints(root.size)
        const change = (entry: AuditEntry) => ({ ...entry, data: { ...entry.data, effect: 'deny' } })
        await intruder.changeEntry(signed.log, signed.index + 1, change)
        await signAsStranger(dataDir, 'https://decide.example')
      },
    })
    await expectRefused(signed.decision)
    const { body } = await server.call('GET', '/v1/audit/checkpoints')
    expect(body.detail).toContain('not signed by a key of this server')
  })

  it('is found by a server whose memory was removed together with the trees', async () => {
    const signed = await signedLog()
    server = await server.restart({
      async meanwhile(dataDir) {
        rmSync(join(dataDir, 'checkpoints.ndjson'))
        await rewrite(signed)
      },
    })
    await expectRefused(signed.decision)
    expect(await accept()).toEqual({ done: true })
    expect(await verified()).toMatchObject({ result: 'intact' })
  })
})

describe('an entry that was removed before a checkpoint covered it', () => {
  it('is named in the log, and the other logs go on', async () => {
    await signedLog()
    let log = ''
    server = await server.restart({
      async meanwhile(dataDir) {
        log = await writeLog(dataDir, 3)
        await intruderOf(dataDir).removeEntries(log, 1)
        // The server goes on in this one.
        await writeLog(dataDir, 1)
      },
    })
    const said = await until('an error', async () => server.logged.find(({ level }) => level === 'error'))
    expect(said.fields).toMatchObject({
      log,
      index: 1,
      found: expect.stringContaining(`Entry 1 of log ${log} is missing`),
    })
    const { id } = await decide(server, ALLOWED)
    const [entry] = await everyItem(server, `/v1/audit?decision_id=${id}`)
    await signedSize(entry.log, entry.index + 1)
    const found = server.logged.filter(({ level }) => level === 'error')
    expect(found).toHaveLength(1)
  })
})

describe('a memory that is missing', () => {
  const warnings = () => server.logged.filter(({ message }) => message.includes('DATA_DIR holds no checkpoint'))

  /** As a release that remembered nothing left it. */
  async function forget(dataDir: string): Promise<void> {
    rmSync(join(dataDir, 'checkpoints.ndjson'))
    const file = join(dataDir, 'signing-keys.json')
    const { remembers_checkpoints, ...former } = JSON.parse(readFileSync(file, 'utf8'))
    expect(remembers_checkpoints).toBe(true)
    writeFileSync(file, JSON.stringify(former))
  }

  it('is told once after an upgrade, and not at a first start', async () => {
    const { log } = await signedLog()
    expect(warnings()).toEqual([])
    for (const isForgotten of [false, true, false]) {
      server = await server.restart({ meanwhile: async (dataDir) => (isForgotten ? forget(dataDir) : undefined) })
      await signedSize(log, 1)
      expect(warnings()).toHaveLength(isForgotten ? 1 : 0)
      expect(existsSync(join(server.dataDir, 'checkpoints.ndjson'))).toBe(true)
    }
  })

  it('is told after an upgrade when the trees are missing, too', async () => {
    await signedLog()
    server = await server.restart({
      async meanwhile(dataDir) {
        await forget(dataDir)
        await forgetTrees(intruderOf(dataDir))
      },
    })
    await until('the warning', async () => warnings()[0])
  })
})

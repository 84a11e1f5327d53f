/** A rewritten log, as an operator meets it: in the log of the server, in `doctor`, in `audit`, and how it is accepted. */
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { forgetTrees, intruderOf } from '../intruder.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const ISSUER = 'https://decide.example'
const start = (dataDir: string) => ShippedServer.start({ dataDir, env: { ISSUER } })

async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = countersign(args, { env: { COUNTERSIGN_API_KEY: CHOSEN_KEY, PORT: '0', ISSUER, ...env } })
  const { code } = await child.end(60_000)
  return { code, stdout: child.stdout, stderr: child.stderr }
}

/** This many entries are under a checkpoint. */
const signed = (server: ShippedServer) =>
  until('a checkpoint', async () => {
    const { status, body } = await server.call('GET', '/v1/audit/checkpoints')
    return status === 200 && body.data[0]?.size >= 2 ? (body.data[0].log as string) : undefined
  })

const errors = (server: ShippedServer) => server.lines.filter(({ level }) => level === 'error' || level === 50)

async function rewrite(dataDir: string, log: string): Promise<void> {
  const intruder = intruderOf(dataDir)
  await intruder.changeEntry(log, 1, (entry) => ({ ...entry, actor: 'key_nobody' }))
  await forgetTrees(intruder)
}

describe('a rewritten log', () => {
  it('is told by the server, doctor and export, and accepted at the server that runs', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const log = await signed(server)
    await rewrite(dataDir, log)
    const said = await until('an error', () => errors(server)[0])
    expect(JSON.stringify(said)).toContain('countersign audit accept-rewrite')
    const doctor = await run(['doctor'], { DATA_DIR: dataDir, PORT: new URL(server.url).port })
    expect(doctor.stdout).toMatch(/^problem +audit log +This server has signed or seen/m)
    expect(doctor.code).toBe(1)
    const exported = await run(['audit', 'export', '--url', server.url], {})
    expect(exported).toMatchObject({ code: 2, stdout: expect.stringMatching(/^Tampered with: The audit log of http/) })
    const accepted = await run(['audit', 'accept-rewrite'], { DATA_DIR: dataDir })
    expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Accepted/), stderr: '' })
    const { body } = await server.call('GET', '/v1/audit/checkpoints')
    expect(body.root.origin).toMatch(/^decide\.example\/root\.[\w-]{8}$/)
    expect(await run(['audit', 'accept-rewrite'], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing to accept'),
    })
  })

  it('is told and accepted without a server, and by an export of its data', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const log = await signed(server)
    await server.stop()
    await rewrite(dataDir, log)
    const out = join(dataDir, 'export')
    const offline = await run(['audit', 'export', '--offline', '--out', out], { DATA_DIR: dataDir })
    expect(offline).toMatchObject({ code: 2, stdout: expect.stringMatching(/^Tampered with: /) })
    expect((await run(['doctor'], { DATA_DIR: dataDir })).stdout).toMatch(/^problem +audit log/m)
    expect(await run(['audit', 'accept-rewrite'], { DATA_DIR: dataDir })).toMatchObject({ code: 0 })
    const next = await start(dataDir)
    await signed(next)
    expect(errors(next)).toEqual([])
    const { body } = await next.call('GET', '/v1/audit?type=log.rewrite_accepted')
    expect(body.data).toHaveLength(1)
  }, 60_000)

  it('names the entry that an online export lacks, as one of the data does', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const log = await signed(server)
    await intruderOf(dataDir).removeEntries(log, 1)
    const lacks = new RegExp(`The log ${log} has \\d+ entries, and entry 1 is missing\\.`)
    const online = await run(['audit', 'export', '--url', server.url], {})
    expect(online).toMatchObject({ code: 1, stderr: expect.stringMatching(lacks) })
    const curled = await fetch(`${server.url}/v1/audit/export`, { headers: { Authorization: `Bearer ${CHOSEN_KEY}` } })
    const [file, jwks] = [join(dataDir, 'curled'), join(dataDir, 'jwks')]
    let text = ''
    const chunks = curled.body as unknown as AsyncIterable<Uint8Array>
    const readAll = async () => {
      for await (const chunk of chunks) text += Buffer.from(chunk).toString()
    }
    await expect(readAll()).rejects.toThrow()
    writeFileSync(file, text)
    writeFileSync(jwks, await (await fetch(`${server.url}/.well-known/jwks.json`)).text())
    const verified = await run(['audit', 'verify', file, '--jwks', jwks], {})
    expect(verified).toMatchObject({ code: 3, stdout: expect.stringMatching(lacks) })
    await server.stop()
    rmSync(join(dataDir, 'countersign.db-sums'))
    const deep = await run(['doctor', '--deep'], { DATA_DIR: dataDir })
    expect(deep.stdout).toMatch(new RegExp(`^problem +audit log +Entry 1 of log ${log} is under a checkpoint`, 'm'))
    const offline = await run(['audit', 'export', '--offline'], { DATA_DIR: dataDir })
    expect(offline).toMatchObject({ code: 1, stderr: expect.stringMatching(lacks) })
  }, 60_000)
})

describe('signing keys', () => {
  it('that are gone or exchanged are told at the start and by doctor', async () => {
    const [dataDir, other] = [newDirectory(), newDirectory()]
    for (const folder of [dataDir, other]) await (await start(folder)).stop()
    const file = join(dataDir, 'signing-keys.json')
    const kept = join(dataDir, 'kept-keys.json')
    renameSync(file, kept)
    expect((await run(['doctor'], { DATA_DIR: dataDir })).stdout).toMatch(/^problem +signing keys +.*is missing/m)
    const without = await start(dataDir)
    expect(JSON.stringify(errors(without))).toContain('removed or replaced')
    expect(JSON.stringify(errors(without))).toContain('on purpose, remove known-signing-keys.json')
    await without.stop()
    expect((await run(['doctor'], { DATA_DIR: dataDir })).stdout).toMatch(/^problem +signing keys +.*replaced/m)

    // The newest entry that the other one remembers is of another store.
    const exchanged = { ...JSON.parse(readFileSync(join(other, 'signing-keys.json'), 'utf8')), newest_entry: null }
    writeFileSync(file, JSON.stringify(exchanged), { mode: 0o600 })
    const withOthers = await start(dataDir)
    expect(JSON.stringify(errors(withOthers))).toContain('removed or replaced')
    await withOthers.stop()

    rmSync(file)
    copyFileSync(kept, file)
    rmSync(kept)
    const restored = await start(dataDir)
    expect(errors(restored)).toEqual([])
    await restored.stop()
    expect((await run(['doctor'], { DATA_DIR: dataDir })).code).toBe(0)
  }, 60_000)
})

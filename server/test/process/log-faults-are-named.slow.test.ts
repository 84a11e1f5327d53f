/** What commands say of a log with a gap, and of a log that nobody rewrote. */
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { goOnInLog } from '../audit-logs.js'
import { intruderOf } from '../intruder.js'
import { ON_MONGODB } from '../open-test-store.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

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

async function run(dataDir: string, ...args: string[]) {
  const env = { COUNTERSIGN_API_KEY: CHOSEN_KEY, PORT: '0', DATA_DIR: dataDir, ...envOf(dataDir) }
  const child = countersign(args, { env })
  const { code } = await child.end(60_000)
  return { code, said: child.stdout + child.stderr }
}

/** A server whose entries are all under a checkpoint, its log, and a file with its key set. */
async function begin() {
  const dataDir = newDirectory()
  databases.push(basename(dataDir))
  const server = await ShippedServer.start({ dataDir, env: envOf(dataDir) })
  const { body } = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'mail.send' } })
  const [entry] = (await server.call('GET', `/v1/audit?decision_id=${body.id}`)).body.data
  await until('a checkpoint', async () => {
    const { body: shown } = await server.call('GET', '/v1/audit/checkpoints')
    return shown.data?.some(({ log, size }: never) => log === entry.log && size > entry.index) || undefined
  })
  const jwks = join(newDirectory(), 'jwks')
  writeFileSync(jwks, await (await fetch(`${server.url}/.well-known/jwks.json`)).text())
  return { dataDir, server, log: entry.log as string, jwks }
}

describe('a log with a gap', () => {
  it('is incomplete for --records, and its first missing entry is named wherever the log is read', async () => {
    const { dataDir, server, log, jwks } = await begin()
    await intruderOf(dataDir).removeEntries(log, 1)
    const named = expect.stringMatching(`log ${log} has \\d+ entries, and entry 1 is missing`)
    const verify = ['audit', 'verify', '--records', '--jwks', jwks]
    expect(await run(dataDir, ...verify, '--url', server.url)).toEqual({ code: 3, said: named })
    await server.stop()
    expect(await run(dataDir, ...verify, '--offline')).toEqual({ code: 3, said: named })
    const exported = await run(dataDir, 'audit', 'export', '--offline')
    expect(exported).toEqual({ code: 1, said: named })
    expect(exported.said).not.toContain('may have taken effect')
  }, 60_000)

  it('that no checkpoint covers is named just before the end, by doctor, by the metrics and in the log, and stops no decision', async () => {
    const { dataDir, server } = await begin()
    await server.stop()
    const { log, index } = await goOnInLog(dataDir, 3)
    await intruderOf(dataDir).removeEntries(log, index - 1)
    const named = `Entry ${index - 1} of log ${log} is missing, but later ones exist`
    expect(await run(dataDir, 'doctor')).toEqual({ code: 1, said: expect.stringContaining(named) })

    const next = await ShippedServer.start({ dataDir, env: envOf(dataDir) })
    const metrics = async () => (await fetch(`${next.url}/metrics`)).text()
    await until(
      'the metrics to count it',
      async () => /^countersign_audit_log_gaps 1$/m.test(await metrics()) || undefined,
    )
    const told = next.lines.filter(({ level, found }) => level === 'error' && String(found).includes(named))
    expect(told).toHaveLength(1)
    const asked = { agent_id: 'agent:a', action: 'mail.send' }
    expect((await next.call('POST', '/v1/decisions', { body: asked })).status).toBe(200)
    expect((await fetch(`${next.url}/readyz`)).status).toBe(200)
    const port = new URL(next.url).port
    const beside = countersign(['doctor'], { env: { PORT: port, DATA_DIR: dataDir, ...envOf(dataDir) } })
    expect(await beside.end(60_000)).toMatchObject({ code: 1 })
    expect(beside.stdout).toContain(named)
  }, 60_000)

  it('is no other answer than an export when it lacks its checkpoints', async () => {
    const { dataDir, server } = await begin()
    await intruderOf(dataDir).removeCheckpoints()
    const { code, said } = await run(dataDir, 'audit', 'export', '--url', server.url)
    expect(code).toBe(1)
    expect(said).toMatch(/The root log has \d+ checkpoints, and checkpoint 0 is missing/)
    expect(said).not.toContain('did not return an export')
  })
})

describe('accept-rewrite', () => {
  it('says in a sentence that there is nothing to accept, on a running server and without one', async () => {
    const { dataDir, server } = await begin()
    const running = await run(dataDir, 'audit', 'accept-rewrite')
    await server.stop()
    for (const { code, said } of [running, await run(dataDir, 'audit', 'accept-rewrite')]) {
      expect(code).toBe(1)
      expect(said).toContain('nothing to accept')
      expect(said).not.toMatch(/"stack"|\bat .*:\d+:\d+/)
    }
  })
})

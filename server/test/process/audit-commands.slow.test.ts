/** `countersign audit` as it is shipped: what it writes, what it finds, and how it ends. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stress } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { exportWith, keySetOf, writeLogs } from '../audit-logs.js'
import { runServer } from '../running-server.js'
import { call } from './call.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** Runs a command to its end. */
async function audit(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = countersign(['audit', ...args], { env: { COUNTERSIGN_API_KEY: CHOSEN_KEY, ...env } })
  const { code } = await child.end(120_000)
  return { code, stdout: child.stdout, stderr: child.stderr }
}

describe('countersign audit', () => {
  it('exports, verifies and proves, on a running server and on its data', async () => {
    const dataDir = newDirectory()
    const [out, offline, kept, jwks, permit, proof] = ['a', 'b', 'kept', 'jwks', 'permit', 'proof'].map((name) =>
      join(newDirectory(), name),
    ) as [string, string, string, string, string, string]
    const server = await ShippedServer.start({ dataDir, env: { ISSUER: 'https://decide.example' } })
    const url = { COUNTERSIGN_URL: server.url }
    await server.call('POST', '/v1/policies', {
      body: { name: 'mails', rules: [{ action: 'mail.*', effect: 'allow' }] },
    })
    const body = { agent_id: 'agent:a', action: 'mail.send' }
    const decision = (await server.call('POST', '/v1/decisions', { body })).body
    writeFileSync(permit, decision.permit_token)
    writeFileSync(jwks, JSON.stringify((await call(server.url, 'GET', '/.well-known/jwks.json')).body))

    expect(await audit(['export', '--out', out, '--witness', kept], url)).toMatchObject({ code: 0, stdout: '' })
    const verified = await audit(['verify', out, '--jwks', jwks, '--kept', kept])
    expect(verified).toMatchObject({ code: 0, stderr: '' })
    const [intact, ofLog, ...more] = verified.stdout.trim().split('\n')
    expect(intact).toMatch(/^Intact: \d+ entries of 1 log, under \d+ checkpoints?\.$/)
    expect(ofLog).toMatch(/^ {2}log \S+: \d+ entries$/)
    expect(more.at(-1)).toBe('  1 kept checkpoint in its past')
    expect(await audit(['prove', permit, '--out', proof], url)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await audit(['verify', '--permit', permit, '--proof', proof, '--jwks', jwks])).code).toBe(0)

    expect(await audit(['export', '--offline', '--out', offline], { DATA_DIR: dataDir })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('A server is using the data'),
    })
    await server.stop()
    expect(existsSync(offline)).toBe(false)
    expect((await audit(['export', '--offline', '--out', offline], { DATA_DIR: dataDir })).code).toBe(0)
    const { code, stdout } = await audit(['verify', offline, '--json', '--jwks', jwks, '--kept', kept])
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ result: 'intact' })])
    const changed = readFileSync(offline, 'utf8').replace('mail.send', 'mail.sent')
    writeFileSync(offline, changed)
    const found = JSON.parse((await audit(['verify', offline, '--json', '--jwks', jwks])).stdout)
    const line = changed.split('\n').findIndex((text) => text.includes('mail.sent')) + 1
    const { log, index, id } = JSON.parse(changed.split('\n')[line - 1] as string)
    expect(found).toMatchObject({ result: 'tampered', line, log, index, entry_id: id })
  })

  it('leaves no file when the connection breaks, and none of the old one is lost', async () => {
    const server = createServer((_, res) => {
      res.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      res.write('{"checkpoint":"a"}\n', () => res.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const out = join(newDirectory(), 'export.ndjson')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      expect((await audit(['export', '--out', out, '--url', url])).code).toBe(1)
      expect(existsSync(out)).toBe(false)
      writeFileSync(out, 'old')
      expect((await audit(['export', '--out', out, '--url', url])).code).toBe(1)
      expect(readFileSync(out, 'utf8')).toBe('old')
    } finally {
      server.close()
    }
  })

  it('shows how it is used', async () => {
    expect(await audit(['verify', 'export.ndjson'])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining("required option '--jwks"),
    })
  })

  it(`finds ${stress.export_attacks} of ${stress.export_attacks} changes of ${stress.export_entries} entries, and passes the untouched ones`, async () => {
    const folder = newDirectory()
    const first = await runServer({ settings: { rateLimitPerSecond: 0 } })
    const running = await first.restart({ meanwhile: (dataDir) => writeLogs(dataDir, 3, stress.export_entries) })
    const [text, jwks, file] = [
      await exportWith(running, stress.export_entries),
      join(folder, 'jwks'),
      join(folder, 'export'),
    ]
    writeFileSync(jwks, JSON.stringify(await keySetOf(running)))
    await running.stop()
    const whole = Buffer.from(text)
    writeFileSync(file, whole)
    expect((await audit(['verify', file, '--jwks', jwks])).code).toBe(0)
    for (let i = 0; i < stress.export_attacks; i += 1) {
      const at = Math.floor(((i + 0.5) * whole.length) / stress.export_attacks)
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] as number) ^ (1 << (i % 7))
      writeFileSync(file, changed)
      const { code, stdout } = await audit(['verify', file, '--json', '--jwks', jwks])
      const line = whole.subarray(0, at).toString().split('\n').length
      expect([code, JSON.parse(stdout).line], `byte ${at}`).toEqual([2, line])
    }
    writeFileSync(file, whole.subarray(0, whole.length - 100))
    expect((await audit(['verify', file, '--jwks', jwks])).code).toBe(3)
  }, 600_000)
})

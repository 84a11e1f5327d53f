/** `countersign signing-keys`, with the server at rest and beside it while it runs. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { any, createPermitVerifier } from '@countersign/permit'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { listAll } from './call.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** How soon a running server promises to take over a change of the signing keys. */
const PROMISED_MS = 2000
const ISSUER = 'https://decisions.example'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

type Key = { readonly kid: string; readonly state: string }

async function signingKeys(dataDir: string, ...args: string[]): Promise<Key[]> {
  const command = countersign(['signing-keys', ...args], { env: { DATA_DIR: dataDir } })
  expect({ ...(await command.end()), stderr: command.stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  const lines = command.stdout.trim().split('\n')
  return lines.map((line) => {
    const [kid = '', state = ''] = line.split(/ +/)
    return { kid, state }
  })
}

const stateOf = (keys: readonly Key[], state: string) => keys.filter((key) => key.state === state).map(({ kid }) => kid)

async function start(dataDir: string): Promise<ShippedServer> {
  return ShippedServer.start({ dataDir, env: { ISSUER } })
}

async function permitOf(server: ShippedServer): Promise<string> {
  await server.call('POST', '/v1/policies', { body: { name: 'all', rules: [{ action: '*', effect: 'allow' }] } })
  const body = { agent_id: 'agent:a', action: 'payment.refund' }
  return (await server.call('POST', '/v1/decisions', { body })).body.permit_token
}

const kidOf = (permit: string) => JSON.parse(Buffer.from(permit.split('.')[0] ?? '', 'base64url').toString()).kid

async function publishedBy(server: ShippedServer): Promise<string[]> {
  const { body } = await server.call('GET', '/.well-known/jwks.json')
  return body.keys.map(({ kid }: Key) => kid)
}

/** Waits three times as long as is promised, and says how long it took. */
async function untilPublished(server: ShippedServer, what: string, isSo: (kids: string[]) => boolean): Promise<void> {
  const started = performance.now()
  await until(what, async () => isSo(await publishedBy(server)) || undefined, 3 * PROMISED_MS)
  console.log(`${what} after ${Math.round(performance.now() - started)} ms; promised within ${PROMISED_MS}`)
}

async function verify(server: ShippedServer, permit: string) {
  const jwks = (await server.call('GET', '/.well-known/jwks.json')).body
  const verifier = createPermitVerifier({ jwks, issuer: ISSUER, audience: ISSUER })
  return verifier.verify(permit, { action: 'payment.refund', resource: any })
}

/** Waits until the audit log tells this of the signing keys, and nothing else. */
async function expectTold(server: ShippedServer, expected: readonly string[]): Promise<void> {
  await until(`${expected.length} entries`, async () => (await told(server)).length >= expected.length || undefined)
  expect(await told(server)).toEqual(expected.toSorted())
}

async function told(server: ShippedServer): Promise<string[]> {
  const entries = await listAll(server.url, '/v1/audit', CHOSEN_KEY)
  const ours = entries.filter(({ type }) => type.startsWith('signing_key.'))
  for (const { actor, data } of ours) expect({ actor, data }).toEqual({ actor: null, data: expect.anything() })
  expect(JSON.stringify(ours)).not.toContain('"d":')
  return ours.map(({ type, subject }) => `${type} ${subject}`).sort()
}

const created = (keys: readonly Key[]) => keys.map(({ kid }) => `signing_key.created ${kid}`)

async function refusal(dataDir: string, args: readonly string[], why: RegExp): Promise<void> {
  const command = countersign(['signing-keys', ...args], { env: { DATA_DIR: dataDir } })
  expect((await command.end()).code).not.toBe(0)
  expect(command.stdout).toBe('')
  expect(JSON.parse(command.stderr).msg).toMatch(why)
}

describe('signing-keys', () => {
  it('lists, rotates and revokes the keys of a server at rest', async () => {
    const dataDir = newDirectory()
    const first = await start(dataDir)
    const permit = await permitOf(first)
    await first.stop()

    const before = await signingKeys(dataDir, 'list')
    expect(before.map(({ state }) => state).sort()).toEqual(['active', 'next'])
    const [old = '', next = ''] = [...stateOf(before, 'active'), ...stateOf(before, 'next')]
    expect(kidOf(permit)).toBe(old)
    const rotated = await signingKeys(dataDir, 'rotate')
    expect([stateOf(rotated, 'active'), stateOf(rotated, 'retiring')]).toEqual([[next], [old]])
    const second = await start(dataDir)
    expect((await publishedBy(second)).sort()).toEqual(rotated.map(({ kid }) => kid).sort())
    expect(await verify(second, permit)).toMatchObject({ action: 'payment.refund' })
    expect(kidOf(await permitOf(second))).toBe(next)
    await second.stop()

    const revoked = await signingKeys(dataDir, 'revoke', old)
    expect(stateOf(revoked, 'revoked')).toEqual([old])
    const third = await start(dataDir)
    expect(await publishedBy(third)).not.toContain(old)
    await expect(verify(third, permit)).rejects.toMatchObject({ code: 'key_unknown' })
    await expectTold(third, [...created(revoked), `signing_key.rotated ${next}`, `signing_key.revoked ${old}`])
    expect(await signingKeys(dataDir, 'list')).toEqual(revoked)
  })

  it('rotates and revokes the keys of a running server, which takes it over in time', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const permit = await permitOf(server)
    const old = kidOf(permit)
    const rotated = await signingKeys(dataDir, 'rotate')
    const [active = '', next = ''] = [...stateOf(rotated, 'active'), ...stateOf(rotated, 'next')]
    await untilPublished(server, 'the next key is published', (kids) => kids.includes(next))
    expect(kidOf(await permitOf(server))).toBe(active)
    expect(await verify(server, permit)).toMatchObject({ action: 'payment.refund' })

    const revoked = await signingKeys(dataDir, 'revoke', old)
    await untilPublished(server, 'the revoked key is gone', (kids) => !kids.includes(old))
    await expect(verify(server, permit)).rejects.toMatchObject({ code: 'key_unknown' })
    const redeemed = await server.call('POST', '/v1/permits/redeem', { body: { permit_token: permit } })
    expect(redeemed).toMatchObject({ status: 400, body: { code: 'permit_invalid' } })
    const expected = [...created(revoked), `signing_key.rotated ${active}`, `signing_key.revoked ${old}`]
    await expectTold(server, expected)
    await server.stop()
    await expectTold(await start(dataDir), expected)
  })

  it('tells the audit log of each of several changes that a running server sees at once', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const before = await signingKeys(dataDir, 'list')
    const [next = ''] = stateOf(before, 'next')
    server.signal('SIGSTOP')
    await signingKeys(dataDir, 'rotate')
    const last = await signingKeys(dataDir, 'rotate', '--force')
    server.signal('SIGCONT')
    await untilPublished(server, 'all keys are published', (kids) => last.every(({ kid }) => kids.includes(kid)))
    const [active = ''] = stateOf(last, 'active')
    expect(last).toHaveLength(4)
    await expectTold(server, [...created(last), `signing_key.rotated ${next}`, `signing_key.rotated ${active}`])
  })

  it('refuses a key that is not there, and a folder without a server or its keys, where it makes nothing', async () => {
    const dataDir = newDirectory()
    const refused = (args: readonly string[], why: RegExp) => refusal(dataDir, args, why)
    const commands = [['list'], ['rotate'], ['revoke', 'abc']]
    for (const args of commands) await refused(args, /no server data in .*DATA_DIR/)
    expect(readdirSync(dataDir)).toEqual([])
    await (await start(dataDir)).stop()
    // One kid in 64 begins with a hyphen.
    await Promise.all(['abc', '-abc', '-habc'].map((kid) => refused(['revoke', kid], new RegExp(kid))))
    rmSync(join(dataDir, 'signing-keys.json'))
    const left = readdirSync(dataDir)
    for (const args of commands) await refused(args, /There are no signing keys in .*The server creates them/)
    expect(readdirSync(dataDir)).toEqual(left)
  })

  it('does not rotate again before verifiers know the next key, unless it is forced', async () => {
    const dataDir = newDirectory()
    const server = await start(dataDir)
    const rotated = await signingKeys(dataDir, 'rotate')
    await refusal(
      dataDir,
      ['rotate'],
      /may not know the next signing key.* Rotate at 20\d\d-.*Z or later\. Use --force to rotate now\./,
    )
    expect(await signingKeys(dataDir, 'list')).toEqual(rotated)
    const forced = await signingKeys(dataDir, 'rotate', '--force')
    expect(stateOf(forced, 'active')).toEqual(stateOf(rotated, 'next'))
    const [next = ''] = stateOf(forced, 'next')
    await untilPublished(server, 'the next key is published', (kids) => kids.includes(next))
  })
})

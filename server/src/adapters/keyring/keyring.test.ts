import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermitVerifier, type PermitClaims } from '@countersign/permit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  EarlyRotationError,
  type SigningKeyInfo,
  type SigningKeyState,
  UnknownSigningKeyError,
} from '../../ports/signer.js'
import { KeyFileError } from './key-file.js'
import { findKeyring, type Keyring, openKeyring } from './keyring.js'

let dataDir: string
let path: string
let nowMs: number
const clock = { now: () => new Date(nowMs) }
const START = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR_MS = 3_600_000

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-keyring-'))
  path = join(dataDir, 'signing-keys.json')
  nowMs = START
})
afterEach(() => rm(dataDir, { recursive: true }))

const openKept = () => openKeyring({ dataDir, clock })
/** Whether verifiers know the next key is a question of its own. */
const FORCED = { isForced: true }

function keyIn(keyring: Keyring, state: SigningKeyState): SigningKeyInfo {
  const [key, ...more] = keyring.list().filter((one) => one.state === state)
  expect(more).toEqual([])
  return key as SigningKeyInfo
}
/** Replaces the file in one step, as another program would. */
async function replaceFile(content: string): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
const publishedKids = (keyring: Keyring) => keyring.jwks().keys.map(({ kid }) => kid)

const FILES = ['signing-keys.json', 'signing-keys.json.lock']

let permits = 0
/** A permit of the longest life, issued now. */
function claimsOfNow(): PermitClaims {
  const iat = Math.floor(nowMs / 1000)
  permits += 1
  return {
    iss: 'https://decide.example',
    sub: 'agent:a',
    aud: 'https://decide.example',
    iat,
    exp: iat + 3600,
    jti: `dec_${permits}`,
    action: 'payment.refund',
    resource: null,
    effect: 'allow',
    policy_id: 'pol_1',
    policy_revision: 1,
    request_hash: 'x'.repeat(43),
    audit: { log: 'a', index: permits, leaf: 'x'.repeat(43) },
  }
}
/** What a verifier says that has just read the key set. */
function verifyNow(keyring: Keyring, token: string) {
  const issuer = 'https://decide.example'
  const verifier = createPermitVerifier({ issuer, audience: issuer, jwks: keyring.jwks(), now: () => nowMs })
  return verifier.verify(token, { action: 'payment.refund', resource: null })
}
const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid

describe('the first start', () => {
  test('makes an active and a next key in a file of mode 0600', async () => {
    const keyring = await openKept()
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(dataDir)).toEqual(FILES)
    expect(publishedKids(keyring)).toEqual([keyIn(keyring, 'next').kid, keyIn(keyring, 'active').kid])
    expect(keyring.history().map(({ type, kid, at }) => ({ type, kid, at }))).toEqual(
      publishedKids(keyring).map((kid) => ({ type: 'signing_key.created', kid, at: clock.now().toISOString() })),
    )
  })

  test('makes the data directory, closed to others', async () => {
    const inner = join(dataDir, 'data')
    await openKeyring({ dataDir: inner, clock })
    expect((await stat(inner)).mode & 0o777).toBe(0o700)
  })

  test('publishes and tells no secret', async () => {
    const keyring = await openKept()
    const secrets = JSON.parse(await readFile(path, 'utf8')).keys.map((key: { jwk: { d: string } }) => key.jwk.d)
    expect(secrets).toHaveLength(2)
    const told = JSON.stringify([keyring.jwks(), keyring.list(), keyring.history()])
    for (const secret of secrets) expect(told).not.toContain(secret)
  })
})

describe('a later start', () => {
  test('has the same keys and the same history, and writes nothing', async () => {
    const first = await openKept()
    const token = await first.sign(claimsOfNow())
    const before = await stat(path)
    const keyring = await openKept()
    expect(keyring.history()).toEqual(first.history())
    expect(keyring.list()).toEqual(first.list())
    expect((await stat(path)).ino).toBe(before.ino)
    await expect(verifyNow(keyring, token)).resolves.toMatchObject({ jti: `dec_${permits}` })
  })

  test('ignores what a crash before the renaming left behind, and the next change removes it', async () => {
    const first = await openKept()
    const leftover = `${path}.5e0f3c52.tmp`
    await writeFile(leftover, '{"version":1,"keys":[', { mode: 0o600 })
    const keyring = await openKept()
    expect(keyring.list()).toEqual(first.list())
    await keyring.rotate(FORCED)
    expect(await readdir(dataDir)).toEqual(FILES)
  })

  test('after a crash before the very first renaming makes keys of its own', async () => {
    await writeFile(`${path}.5e0f3c52.tmp`, '{"version":1', { mode: 0o600 })
    expect((await openKept()).history()).toHaveLength(2)
    expect(await readdir(dataDir)).toEqual(FILES)
  })

  test.each([0o604, 0o640, 0o644, 0o620, 0o666])('refuses a file of mode %o, and says what to do', async (mode) => {
    await openKept()
    await chmod(path, mode)
    const refusal = openKept()
    await expect(refusal).rejects.toThrow(KeyFileError)
    await expect(refusal).rejects.toThrow(`chmod 600 ${path}`)
    await expect(refusal).rejects.toThrow(mode.toString(8))
    await chmod(path, 0o600)
    expect((await openKept()).list()).toHaveLength(2)
  })

  test('passes on that the file cannot be read, and makes no keys', async () => {
    await symlink('signing-keys.json', path)
    await expect(openKept()).rejects.toThrow(/ELOOP/)
  })
})

describe('a damaged file', () => {
  type Content = { version: number; keys: { kid: string; state: string; jwk: { d?: string } }[] }
  const damages: [string, (content: Content, text: string) => string][] = [
    ['empty', () => ''],
    ['cut', (_, text) => text.slice(0, -40)],
    ['no object', () => '[]'],
    ['of a newer version', (content) => JSON.stringify({ ...content, version: 2 })],
    ['with an unknown member', (content) => JSON.stringify({ ...content, note: 1 })],
    ['without keys', (content) => JSON.stringify({ ...content, keys: [] })],
    ['without an active key', (content) => JSON.stringify({ ...content, keys: content.keys.slice(0, 1) })],
    ['with two active keys', (content) => JSON.stringify({ ...content, keys: [...content.keys, content.keys[1]] })],
    ['with an unknown state', (content) => JSON.stringify(content).replace('"active"', '"actve"')],
    [
      'with the secret of another key',
      (content) => {
        const [next, active] = content.keys
        if (next && active) active.jwk = { ...active.jwk, d: next.jwk.d as string }
        return JSON.stringify(content)
      },
    ],
    [
      'with the JWK of another key',
      (content) => {
        const [next, active] = content.keys
        if (next && active) active.jwk = next.jwk
        return JSON.stringify(content)
      },
    ],
    ['with an active key without secret', (content) => JSON.stringify(content).replace(/,"d":"[^"]*"/g, '')],
  ]

  test.each(damages)('(%s) refuses to start, is named and stays as it is', async (_, damage) => {
    await openKept()
    const text = await readFile(path, 'utf8')
    const damaged = damage(JSON.parse(text), text)
    expect(damaged).not.toBe(text)
    await writeFile(path, damaged)
    const refusal = openKept()
    await expect(refusal).rejects.toThrow(KeyFileError)
    await expect(refusal).rejects.toThrow(path)
    expect(await readFile(path, 'utf8')).toBe(damaged)
  })

  test('found by a running process leaves it its keys and is not written over', async () => {
    const keyring = await openKept()
    await writeFile(path, 'damaged')
    await expect(keyring.reload()).rejects.toThrow(KeyFileError)
    await expect(keyring.rotate(FORCED)).rejects.toThrow(KeyFileError)
    expect(await readFile(path, 'utf8')).toBe('damaged')
    await expect(verifyNow(keyring, await keyring.sign(claimsOfNow()))).resolves.toBeTruthy()
  })
})

describe('rotate', () => {
  test('makes next active and active retiring, and a new next key', async () => {
    const keyring = await openKept()
    const [next, active] = publishedKids(keyring)
    nowMs += 1000
    const changes = await keyring.rotate(FORCED)
    const made = keyIn(keyring, 'next').kid
    expect(keyIn(keyring, 'active')).toMatchObject({ kid: next, activated_at: '2026-11-21T10:00:01.000Z' })
    expect(keyIn(keyring, 'retiring')).toMatchObject({ kid: active, published_until: '2026-11-21T11:01:06.000Z' })
    expect(publishedKids(keyring)).toEqual([made, next, active])
    expect(changes.map(({ type, kid }) => [type, kid])).toEqual([
      ['signing_key.rotated', next],
      ['signing_key.created', made],
    ])
    expect(changes[1]?.public_jwk).toEqual(keyring.jwks().keys[0])
  })

  test('is durable: the next start has the same keys', async () => {
    const keyring = await openKept()
    await keyring.rotate(FORCED)
    expect((await openKept()).list()).toEqual(keyring.list())
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('signs with no key that was not published before', async () => {
    const keyring = await openKept()
    for (let turn = 0; turn < 3; turn += 1) {
      const published = publishedKids(keyring)
      await keyring.rotate(FORCED)
      expect(published).toContain(kidOf(await keyring.sign(claimsOfNow())))
    }
  })

  test('leaves every permit signed before verifiable until it is over, and its key goes after that', async () => {
    const keyring = await openKept()
    const kid = keyIn(keyring, 'active').kid
    const token = await keyring.sign(claimsOfNow())
    await keyring.rotate(FORCED)
    await expect(verifyNow(keyring, token)).resolves.toBeTruthy()
    nowMs = START + HOUR_MS - 1
    await expect(verifyNow(keyring, token)).resolves.toBeTruthy()
    nowMs = START + HOUR_MS
    await expect(verifyNow(keyring, token)).rejects.toMatchObject({ code: 'expired' })
    nowMs = START + HOUR_MS + 65_000 - 1
    expect(publishedKids(keyring)).toContain(kid)
    nowMs += 1
    expect(publishedKids(keyring)).not.toContain(kid)
    expect(keyring.list().map((key) => key.state)).toEqual(['next', 'active'])
    await keyring.rotate(FORCED)
    expect(await readFile(path, 'utf8')).not.toContain(kid)
  })

  test('throws the secret of the old key away', async () => {
    const keyring = await openKept()
    const { keys } = JSON.parse(await readFile(path, 'utf8'))
    await keyring.rotate(FORCED)
    expect(await readFile(path, 'utf8')).not.toContain(keys[1].jwk.d)
  })

  test('many at once are made one after the other', async () => {
    const keyring = await openKept()
    const changes = await Promise.all([keyring.rotate(FORCED), keyring.rotate(FORCED), keyring.rotate(FORCED)])
    expect(changes.map((one) => one.map(({ type }) => type))).toEqual(
      Array(3).fill(['signing_key.rotated', 'signing_key.created']),
    )
    expect(keyring.list().map(({ state }) => state)).toEqual(['next', 'active', 'retiring', 'retiring', 'retiring'])
  })
})

describe('an early rotation', () => {
  const KNOWN_AFTER_MS = 65_000

  test('is none when verifiers know the next key from the start', async () => {
    const keyring = await openKept()
    const next = keyIn(keyring, 'next').kid
    await keyring.rotate()
    expect(keyIn(keyring, 'active').kid).toBe(next)
  })

  test('is refused until every verifier has read the key set again, whichever process opens it, and says until when', async () => {
    await (await openKept()).rotate()
    const before = await readFile(path, 'utf8')
    nowMs += KNOWN_AFTER_MS - 1
    const keyring = await openKept()
    const refusal = keyring.rotate()
    await expect(refusal).rejects.toThrow(EarlyRotationError)
    await expect(refusal).rejects.toThrow('Rotate at 2026-11-21T10:01:05.000Z or later.')
    expect(await readFile(path, 'utf8')).toBe(before)
    nowMs += 1
    await expect(keyring.rotate()).resolves.toHaveLength(2)
  })

  test.each(['active', 'next'] as const)('is refused after the %s key was revoked', async (state) => {
    const keyring = await openKept()
    nowMs += HOUR_MS
    await keyring.revoke(keyIn(keyring, state).kid)
    await expect(keyring.rotate()).rejects.toThrow(EarlyRotationError)
    nowMs += KNOWN_AFTER_MS
    await expect(keyring.rotate()).resolves.toHaveLength(2)
  })

  test('can be forced', async () => {
    const keyring = await openKept()
    await keyring.rotate()
    const next = keyIn(keyring, 'next').kid
    await keyring.rotate({ isForced: true })
    expect(keyIn(keyring, 'active').kid).toBe(next)
  })
})

describe('the history', () => {
  test('is what every change has told, oldest first, no matter who made it', async () => {
    const keyring = await openKept()
    const told = keyring.history()
    nowMs += 1
    told.push(...(await keyring.rotate(FORCED)))
    nowMs += 1
    told.push(...(await keyring.rotate(FORCED)))
    nowMs += 1
    told.push(...(await keyring.revoke(keyIn(keyring, 'active').kid)))
    expect(told.map(({ type }) => type.replace('signing_key.', ''))).toEqual(
      ['created created', 'rotated created', 'rotated created', 'revoked rotated created'].join(' ').split(' '),
    )
    expect((await openKept()).history()).toEqual(told)
  })
})

describe('findKeyring', () => {
  test('gives the keys that are there', async () => {
    const keyring = await openKept()
    expect((await findKeyring({ dataDir, clock }))?.list()).toEqual(keyring.list())
  })

  test('makes nothing where there are none', async () => {
    expect(await findKeyring({ dataDir: join(dataDir, 'none'), clock })).toBeNull()
    expect(await findKeyring({ dataDir, clock })).toBeNull()
    expect(await readdir(dataDir)).toEqual([])
  })
})

describe('revoke', () => {
  test('of the active key puts next in its place, and its permits verify no longer', async () => {
    const keyring = await openKept()
    const [next, active = ''] = publishedKids(keyring)
    const token = await keyring.sign(claimsOfNow())
    const changes = await keyring.revoke(active)
    expect(keyIn(keyring, 'active').kid).toBe(next)
    expect(keyIn(keyring, 'revoked')).toMatchObject({ kid: active, revoked_at: clock.now().toISOString() })
    expect(publishedKids(keyring)).toEqual([keyIn(keyring, 'next').kid, next])
    await expect(verifyNow(keyring, token)).rejects.toMatchObject({ code: 'key_unknown' })
    await expect(verifyNow(keyring, await keyring.sign(claimsOfNow()))).resolves.toBeTruthy()
    expect(changes.map(({ type, kid }) => [type, kid])).toEqual([
      ['signing_key.revoked', active],
      ['signing_key.rotated', next],
      ['signing_key.created', keyIn(keyring, 'next').kid],
    ])
  })

  test('of the next key makes another one', async () => {
    const keyring = await openKept()
    const [next = '', active] = publishedKids(keyring)
    const changes = await keyring.revoke(next)
    const made = keyIn(keyring, 'next').kid
    expect(publishedKids(keyring)).toEqual([made, active])
    expect(changes.map(({ type, kid }) => [type, kid])).toEqual([
      ['signing_key.revoked', next],
      ['signing_key.created', made],
    ])
  })

  test('of a retiring key only takes it out', async () => {
    const keyring = await openKept()
    const active = keyIn(keyring, 'active').kid
    await keyring.rotate(FORCED)
    const changes = await keyring.revoke(active)
    expect(changes.map(({ type, kid }) => [type, kid])).toEqual([['signing_key.revoked', active]])
    expect(keyring.list().map(({ state }) => state)).toEqual(['next', 'active', 'revoked'])
    expect(publishedKids(keyring)).not.toContain(active)
  })

  test('holds over a restart, and keeps no secret', async () => {
    const keyring = await openKept()
    const { keys } = JSON.parse(await readFile(path, 'utf8'))
    await keyring.revoke(keyIn(keyring, 'active').kid)
    nowMs += 30 * 24 * HOUR_MS
    expect((await openKept()).list()).toEqual(keyring.list())
    expect(await readFile(path, 'utf8')).not.toContain(keys[1].jwk.d)
  })

  test('a second time changes nothing', async () => {
    const keyring = await openKept()
    const active = keyIn(keyring, 'active').kid
    await keyring.revoke(active)
    const { ino } = await stat(path)
    expect(await keyring.revoke(active)).toEqual([])
    expect((await stat(path)).ino).toBe(ino)
  })

  test('of nobody, or of a key that is over, is refused', async () => {
    const keyring = await openKept()
    const retiring = keyIn(keyring, 'active').kid
    await keyring.rotate(FORCED)
    nowMs += HOUR_MS + 65_000
    await expect(keyring.revoke('nobody')).rejects.toThrow(UnknownSigningKeyError)
    await expect(keyring.revoke(retiring)).rejects.toThrow(UnknownSigningKeyError)
    await expect(keyring.rotate(FORCED)).resolves.toHaveLength(2)
  })
})

describe('a change by another process', () => {
  test('is taken over and reported by reload', async () => {
    const serving = await openKept()
    const active = keyIn(serving, 'active').kid
    const told = await (await openKept()).revoke(active)
    expect(publishedKids(serving)).toContain(active)
    expect(await serving.reload()).toEqual(told)
    expect(publishedKids(serving)).not.toContain(active)
    expect(await serving.reload()).toEqual([])
  })

  test('is not lost when this process makes one of its own', async () => {
    const serving = await openKept()
    const first = keyIn(serving, 'active').kid
    await (await openKept()).revoke(first)
    const changes = await serving.rotate(FORCED)
    expect(keyIn(serving, 'revoked').kid).toBe(first)
    expect(changes.map(({ type }) => type)).toContain('signing_key.revoked')
  })

  test('is noticed by watch', async () => {
    const serving = await openKept()
    const noticed = new Promise<void>((resolve, reject) => serving.watch(async () => resolve(), reject, 20))
    try {
      const other = await openKept()
      await other.rotate(FORCED)
      await noticed
      expect(serving.list()).toEqual(other.list())
    } finally {
      await serving.close()
    }
  })

  test('is noticed by watch though the newest audit entry was kept meanwhile', async () => {
    const serving = await openKept()
    const other = await openKept()
    await other.rotate(FORCED)
    await serving.remember({ log: 'log', index: 7 })
    expect((await serving.reload()).map(({ type }) => type)).toContain('signing_key.rotated')
    expect(serving.list()).toEqual(other.list())
    await serving.rotate(FORCED)
    expect((await openKept()).newestEntry).toEqual({ log: 'log', index: 7 })
  })

  test('that cannot be taken over is told by watch, once', async () => {
    const serving = await openKept()
    const kept = await readFile(path, 'utf8')
    const failures: unknown[] = []
    let onFailure: () => void = () => undefined
    const failure = () => new Promise<void>((resolve) => (onFailure = resolve))
    const noticed = new Promise<void>((resolve) =>
      serving.watch(
        async () => resolve(),
        (error) => {
          failures.push(error)
          onFailure()
        },
        5,
      ),
    )
    try {
      const first = failure()
      await replaceFile('damaged')
      await first
      await expect(serving.reload()).rejects.toThrow(KeyFileError)
      await expect(serving.reload()).rejects.toThrow(KeyFileError)
      await replaceFile(kept)
      await (await openKept()).rotate(FORCED)
      await noticed
      expect(failures).toEqual([expect.any(KeyFileError)])
    } finally {
      await serving.close()
    }
  })

  test('is told by watch again and again until it is recorded, its failure once', async () => {
    const serving = await openKept()
    const failures: unknown[] = []
    let calls = 0
    const recorded = new Promise<void>((resolve) =>
      serving.watch(
        async () => {
          calls += 1
          if (calls < 4) throw new Error(`failure ${calls}`)
          resolve()
        },
        (error) => failures.push(error),
        5,
      ),
    )
    try {
      await (await openKept()).rotate(FORCED)
      await recorded
      expect(failures).toEqual([new Error('failure 1')])
    } finally {
      await serving.close()
    }
  })

  test('that took the file away leaves the keys, and the next change writes them again', async () => {
    const serving = await openKept()
    await rm(path)
    expect(await serving.reload()).toEqual([])
    await serving.rotate(FORCED)
    expect((await openKept()).list()).toEqual(serving.list())
  })
})

describe('sign', () => {
  test('gives the same permit, alone or among many', async () => {
    const keyring = await openKept()
    const claims = claimsOfNow()
    const alone = await keyring.sign(claims)
    const tokens = await Promise.all(Array.from({ length: 32 }, () => keyring.sign(claims)))
    expect(new Set([alone, ...tokens]).size).toBe(1)
    await expect(verifyNow(keyring, alone)).resolves.toEqual(claims)
  })

  test('rejects claims that a verifier would refuse, and signs on', async () => {
    const keyring = await openKept()
    const claims = claimsOfNow()
    const refused = Array.from({ length: 3 }, () => keyring.sign({ ...claims, exp: claims.iat + 3601 }))
    for (const one of await Promise.allSettled(refused)) expect(one.status).toBe('rejected')
    await expect(verifyNow(keyring, await keyring.sign(claims))).resolves.toEqual(claims)
  })

  test('does not wait for a change on its way to the disk', async () => {
    const keyring = await openKept()
    const active = keyIn(keyring, 'active').kid
    const order: string[] = []
    const rotation = keyring.rotate(FORCED).then(() => order.push('rotated'))
    const token = await keyring.sign(claimsOfNow())
    order.push('signed')
    await rotation
    expect(order).toEqual(['signed', 'rotated'])
    expect(kidOf(token)).toBe(active)
    await expect(verifyNow(keyring, token)).resolves.toBeTruthy()
  })
})

/** What a caller sees of /v1/keys, by status, and what authenticating with a key means. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readResult, submitCommand, withdrawCommand } from '#server/adapters/admin-command-spool/spool'
import { generateKeyText, secretOf } from '#server/api-key-text'
import { databaseOf, ON_MONGODB } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import { ALLOWED, createPolicy, decide, everyItem, makeKey, REFUNDS, succeed } from './refunds.js'
import { dumpOf, stored } from './stored.js'

let server: RunningServer
let self: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  self = (await succeed(server.call('GET', '/v1/keys/self'))).id
})
afterAll(() => server.stop())

const now = () => server.clock.now().toISOString()
const later = (ms: number) => new Date(server.clock.now().getTime() + ms).toISOString()
const create = (body: object, key = server.key) => server.call('POST', '/v1/keys', { body, key })
const rotate = (id: string, body?: object, key = server.key) =>
  server.call('POST', `/v1/keys/${id}/rotate`, { body, key })
const revoke = (id: string, key = server.key, on = server) => on.call('DELETE', `/v1/keys/${id}`, { key })
const whoAmI = async (key: string) => (await server.call('GET', '/v1/keys/self', { key })).status
const auditOf = async (id: string) => (await everyItem(server, '/v1/audit')).filter(({ subject }) => subject === id)

/** Whether any file of the data directory holds the text. */
async function isOnDisk(text: string): Promise<boolean> {
  if (ON_MONGODB) return (await dumpOf(databaseOf(server.dataDir))).includes(text)
  const files = readdirSync(server.dataDir, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.endsWith('.tmp'),
  )
  expect(files.length).toBeGreaterThan(1)
  return files.some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text))
}

describe('POST /v1/keys 201', () => {
  it('answers the key with its text', async () => {
    const body = { name: 'support bots', scopes: ['decisions:write'], agents: ['agent:support-*'] }
    const answer = await create(body)
    expect(answer).toMatchObject({ status: 201 })
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      ...body,
      created_at: now(),
      created_by: self,
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
      hint: `cs_sk_…${answer.body.key.slice(-4)}`,
      key: expect.stringMatching(/^cs_sk_[0-9A-Za-z]{49}$/),
    })
    expect(await auditOf(answer.body.id)).toMatchObject([
      {
        type: 'key.created',
        actor: self,
        data: { name: 'support bots', scopes: ['decisions:write'], agents: ['agent:support-*'], expires_at: null },
      },
    ])
  })

  it('ends the text with the CRC32 of all before it, in base62', async () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    for (let i = 0; i < 20; i++) {
      const { key } = await makeKey(server, ['keys:read'])
      const checksum = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + alphabet.indexOf(digit), 0)
      expect(checksum).toBe(crc32(key.slice(0, -6)))
    }
  })

  it('never makes the same text twice', async () => {
    const texts = await Promise.all(Array.from({ length: 20 }, async () => (await makeKey(server, ['keys:read'])).key))
    expect(new Set(texts).size).toBe(20)
  })

  it('keeps the hash of the text and the text nowhere', async () => {
    const { id, key } = await makeKey(server, ['keys:write'])
    const rotated = (await rotate(id)).body.key
    await decide(server, ALLOWED)
    for (const text of [key, rotated, server.key]) expect(await isOnDisk(text)).toBe(false)
    expect(await isOnDisk(id)).toBe(true)
    expect(JSON.stringify(await everyItem(server, '/v1/audit'))).not.toContain(key.slice(6, -4))
    expect(JSON.stringify(server.logged)).not.toContain(key.slice(6, -4))
  })

  it('counts a scope that is given twice once', async () => {
    expect((await create({ name: 'twice', scopes: ['keys:read', 'keys:read'] })).body.scopes).toEqual(['keys:read'])
  })
})

describe('POST /v1/keys 400', () => {
  it.each<[what: string, change: object, pointers: string[]]>([
    ['no scopes', { scopes: [] }, ['/scopes']],
    ['an unknown scope', { scopes: ['decisions:write', 'decisions'] }, ['/scopes/1']],
    ['an empty list of agents', { agents: [] }, ['/agents']],
    ['an agent pattern that can be none', { agents: ['a b'] }, ['/agents/0']],
    ['a name that is blank', { name: ' ' }, ['/name']],
    ['a time that is none', { expires_at: '2026-13-01T00:00:00.000Z' }, ['/expires_at']],
    ['a time that is over', { expires_at: '2026-11-21T09:59:59.999Z' }, ['/expires_at']],
    ['a time that is now', { expires_at: '2026-11-21T10:00:00.000Z' }, ['/expires_at']],
    ['an unbindable scope beside agents', { scopes: ['*'], agents: ['a'] }, ['/scopes/0']],
    ['a text of its own', { key: 'x'.repeat(40) }, ['/key']],
  ])('refuses %s', async (_, change, pointers) => {
    const before = await stored(server)
    const answer = await create({ name: 'faulty', scopes: ['decisions:read'], ...change })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers)
    expect(await stored(server)).toEqual(before)
  })
})

describe('401', () => {
  it('is the same whatever is wrong with the key', async () => {
    const revoked = await makeKey(server, ['keys:read'])
    await succeed(revoke(revoked.id))
    const expired = await makeKey(server, ['keys:read'], { expires_at: later(1) })
    server.clock.advance(1)
    const { key } = await makeKey(server, ['keys:read'])
    const last = key.endsWith('A') ? 'B' : 'A'
    const unknown = (
      await (async () => {
        const other = await runServer()
        const made = await makeKey(other, ['keys:read'])
        await other.stop()
        return made
      })()
    ).key
    const authorizations: (string | null)[] = [
      null,
      '',
      'Bearer',
      'Bearer ',
      `Basic ${key}`,
      `Token ${key}`,
      key,
      `Bearer ${key} x`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key.slice(0, -1)}${last}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}x`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${'x'.repeat(5000)}`,
      `Bearer ${unknown}`,
      `Bearer ${revoked.key}`,
      `Bearer ${expired.key}`,
    ]
    for (const authorization of authorizations) {
      const headers = authorization === null ? {} : { Authorization: authorization }
      const answer = await server.call('GET', '/v1/keys/self', {
        key: null,
        headers: { ...headers, 'X-Request-Id': 'same-for-all' },
      })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(answer.body, String(authorization)).toEqual({
        type: '/docs/errors#unauthorized',
        title: 'The API key is missing or not valid.',
        status: 401,
        detail: 'Send `Authorization: Bearer <API key>` with a key that is not revoked or expired.',
        code: 'unauthorized',
        request_id: 'same-for-all',
      })
    }
    expect(await whoAmI(key)).toBe(200)
  })

  it('is not told of a scheme in other letters or with more blanks', async () => {
    const { key } = await makeKey(server, ['keys:read'])
    for (const authorization of [`bearer ${key}`, `BEARER   ${key}`])
      expect(
        (await server.call('GET', '/v1/keys/self', { key: null, headers: { Authorization: authorization } })).status,
      ).toBe(200)
  })

  it('is told at the very moment a key expires', async () => {
    const { key } = await makeKey(server, ['keys:read'], { expires_at: later(5000) })
    server.clock.advance(4999)
    expect(await whoAmI(key)).toBe(200)
    server.clock.advance(1)
    expect(await whoAmI(key)).toBe(401)
  })

  it('is told of the key of a query or cookie', async () => {
    expect((await server.call('GET', `/v1/keys/self?key=${server.key}`, { key: null })).status).toBe(401)
    const headers = { Cookie: `key=${server.key}`, 'X-Api-Key': server.key }
    expect((await server.call('GET', '/v1/keys/self', { key: null, headers })).status).toBe(401)
  })
})

describe('GET /v1/keys 200', () => {
  it('shows keys without their secrets, by list, id and self alike', async () => {
    const { key, ...made } = await succeed(create({ name: 'shown', scopes: ['keys:read'] }))
    const shown = { ...made, last_used_at: now() }
    expect(await succeed(server.call('GET', '/v1/keys/self', { key }))).toEqual(shown)
    expect(await succeed(server.call('GET', `/v1/keys/${made.id}`))).toEqual(shown)
    expect((await everyItem(server, '/v1/keys')).find(({ id }) => id === made.id)).toEqual(shown)
  })

  it('shows revoked keys too', async () => {
    const { id } = await makeKey(server, ['keys:read'])
    await succeed(revoke(id))
    expect(await succeed(server.call('GET', `/v1/keys/${id}`))).toMatchObject({ revoked_at: now() })
    expect((await everyItem(server, '/v1/keys')).find((key) => key.id === id)).toMatchObject({ revoked_at: now() })
  })

  it('says when a key was used last, also over a restart', async () => {
    const first = await runServer()
    const { id, key } = await makeKey(first, ['keys:read'])
    const used = async (on: RunningServer) => (await succeed(on.call('GET', `/v1/keys/${id}`))).last_used_at
    expect(await used(first)).toBeNull()
    first.clock.advance(60_000)
    const at = first.clock.now().toISOString()
    expect((await first.call('GET', '/v1/policies', { key })).status).toBe(403)
    first.clock.advance(60_000)
    expect(await used(first)).toBe(at)
    const second = await first.restart()
    try {
      expect(await used(second)).toBe(at)
    } finally {
      await second.stop()
    }
  })
})

describe('POST /v1/keys/{id}/rotate 200', () => {
  it('gives the same key a new text; the old one lives for the grace and ends with it', async () => {
    const { key: old, ...made } = await succeed(
      create({
        name: 'rotated',
        scopes: ['decisions:write', 'keys:read'],
        agents: ['agent:a'],
        expires_at: later(9e9),
      }),
    )
    const rotated = await rotate(made.id, { grace_seconds: 60 })
    const text = rotated.body.key
    expect(rotated).toMatchObject({ status: 200 })
    expect(rotated.body).toEqual({ ...made, key: expect.stringMatching(/^cs_sk_/), hint: `cs_sk_…${text.slice(-4)}` })
    expect(text).not.toBe(old)
    expect(await auditOf(made.id)).toMatchObject([
      { type: 'key.rotated', actor: self, data: { grace_seconds: 60 } },
      {},
    ])
    expect([await whoAmI(old), await whoAmI(text)]).toEqual([200, 200])
    server.clock.advance(59_999)
    expect([await whoAmI(old), await whoAmI(text)]).toEqual([200, 200])
    server.clock.advance(1)
    expect([await whoAmI(old), await whoAmI(text)]).toEqual([401, 200])
  })

  it('ends the old text at once without a grace', async () => {
    const { id, key: old } = await makeKey(server, ['keys:read'])
    const { key } = await succeed(rotate(id, { grace_seconds: 0 }))
    expect([await whoAmI(old), await whoAmI(key)]).toEqual([401, 200])
  })

  it('has a grace of a day unless told', async () => {
    for (const body of [undefined, {}, { grace_seconds: null }]) {
      const { id, key: old } = await makeKey(server, ['keys:read'])
      const { key } = await succeed(rotate(id, body))
      server.clock.advance(86_400_000 - 1)
      expect([await whoAmI(old), await whoAmI(key)]).toEqual([200, 200])
      server.clock.advance(1)
      expect([await whoAmI(old), await whoAmI(key)]).toEqual([401, 200])
    }
  })

  it('shortens the life of an older text, and never lengthens it', async () => {
    const { id, key: first } = await makeKey(server, ['keys:read'])
    const { key: second } = await succeed(rotate(id, { grace_seconds: 10 }))
    const { key: third } = await succeed(rotate(id, { grace_seconds: 100 }))
    server.clock.advance(10_000)
    expect([await whoAmI(first), await whoAmI(second), await whoAmI(third)]).toEqual([401, 200, 200])
    const { key: fourth } = await succeed(rotate(id, { grace_seconds: 1 }))
    server.clock.advance(1000)
    expect([await whoAmI(second), await whoAmI(third), await whoAmI(fourth)]).toEqual([401, 401, 200])
  })

  it('keeps both texts over a restart, and the end of the grace', async () => {
    const first = await runServer()
    const { id, key: old } = await makeKey(first, ['keys:read'])
    const { key } = await succeed(first.call('POST', `/v1/keys/${id}/rotate`, { body: { grace_seconds: 60 } }))
    const second = await first.restart()
    const status = async (text: string) => (await second.call('GET', '/v1/keys/self', { key: text })).status
    try {
      expect([await status(old), await status(key)]).toEqual([200, 200])
      second.clock.advance(60_000)
      expect([await status(old), await status(key)]).toEqual([401, 200])
    } finally {
      await second.stop()
    }
  })

  it('takes the bounds of the grace and no more', async () => {
    const { id } = await makeKey(server, ['keys:read'])
    expect((await rotate(id, { grace_seconds: 604_800 })).status).toBe(200)
    for (const grace_seconds of [-1, 604_801, 1.5, '60', true])
      expect(await rotate(id, { grace_seconds })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/grace_seconds' }] },
      })
  })

  it('stays one key: what it asked for is still its own', async () => {
    await createPolicy(server, REFUNDS)
    const { id, key } = await makeKey(server, ['decisions:write'])
    const decision = await decide(server, ALLOWED, key)
    const rotated = await succeed(rotate(id, { grace_seconds: 0 }))
    expect((await server.call('GET', `/v1/decisions/${decision.id}`, { key: rotated.key })).body.permit_token).toBe(
      decision.permit_token,
    )
  })
})

describe('POST /v1/keys/{id}/rotate 404', () => {
  it('gives no new text to a key that has expired', async () => {
    const expires_at = new Date(server.clock.now().getTime() + 1000).toISOString()
    const { id } = await makeKey(server, ['keys:read'], { expires_at })
    server.clock.advance(1000)
    expect(await rotate(id)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('DELETE /v1/keys/{id} 404', () => {
  it('is told of the id that nothing has, also beside the first key', async () => {
    await makeKey(server, ['*'])
    expect((await revoke('key_00000000000000000000000000')).status).toBe(404)
    expect(self).toMatch(/^key_01/)
    expect(await whoAmI(server.key)).toBe(200)
  })
})

describe('DELETE /v1/keys/{id} 204', () => {
  it('revokes at once, with every text the key has; again changes nothing', async () => {
    const { id, key: old } = await makeKey(server, ['keys:read'])
    const { key } = await succeed(rotate(id, { grace_seconds: 600 }))
    expect([await whoAmI(old), await whoAmI(key)]).toEqual([200, 200])
    expect(await revoke(id)).toMatchObject({ status: 204, body: undefined })
    expect([await whoAmI(old), await whoAmI(key)]).toEqual([401, 401])
    expect((await auditOf(id)).map(({ type, actor }) => [type, actor])).toEqual([
      ['key.revoked', self],
      ['key.rotated', self],
      ['key.created', self],
    ])
    const before = await stored(server)
    expect((await revoke(id)).status).toBe(204)
    expect(await stored(server)).toEqual(before)
    expect((await rotate(id)).status).toBe(404)
  })

  it('lets a key end itself', async () => {
    const { id, key } = await makeKey(server, ['keys:write'])
    expect((await revoke(id, key)).status).toBe(204)
    expect(await whoAmI(key)).toBe(401)
  })

  it('stays revoked over a restart', async () => {
    const first = await runServer()
    const { id, key } = await makeKey(first, ['keys:read'])
    await succeed(revoke(id, first.key, first))
    const second = await first.restart()
    try {
      expect((await second.call('GET', '/v1/keys/self', { key })).status).toBe(401)
    } finally {
      await second.stop()
    }
  })
})

describe('403 key_too_wide', () => {
  it('is told of a key with a scope that the caller lacks', async () => {
    const { key } = await makeKey(server, ['keys:write', 'keys:read'])
    const wide = await makeKey(server, ['keys:write', 'audit:read'])
    const admin = await makeKey(server, ['*'])
    const before = await stored(server)
    for (const scopes of [['audit:read'], ['keys:write', 'decisions:write'], ['*']])
      expect(await create({ name: 'wide', scopes }, key)).toMatchObject({ status: 403, body: { code: 'key_too_wide' } })
    for (const { id } of [wide, admin]) {
      expect(await rotate(id, {}, key)).toMatchObject({ status: 403, body: { code: 'key_too_wide' } })
      expect(await revoke(id, key)).toMatchObject({ status: 403, body: { code: 'key_too_wide' } })
    }
    expect(await stored(server)).toEqual(before)
    expect([await whoAmI(wide.key), await whoAmI(admin.key)]).toEqual([200, 200])
    expect((await create({ name: 'narrow', scopes: ['keys:read'] }, key)).status).toBe(201)
  })

  it('is told of a key that outlives the caller', async () => {
    const end = later(100_000)
    const { key } = await makeKey(server, ['keys:write', 'keys:read'], { expires_at: end })
    const endless = await makeKey(server, ['keys:read'])
    const refused = { status: 403, body: { code: 'key_too_wide', detail: expect.stringContaining(end) } }
    expect(await create({ name: 'endless', scopes: ['keys:read'] }, key)).toMatchObject(refused)
    expect(await create({ name: 'longer', scopes: ['keys:read'], expires_at: later(100_001) }, key)).toMatchObject(
      refused,
    )
    expect(await rotate(endless.id, {}, key)).toMatchObject(refused)
    expect(await revoke(endless.id, key)).toMatchObject(refused)
    expect((await create({ name: 'as long', scopes: ['keys:read'], expires_at: end }, key)).status).toBe(201)
  })

  it('is not told by * of anything', async () => {
    const admin = await makeKey(server, ['*'])
    const made = await succeed(create({ name: 'any', scopes: ['*'] }, admin.key))
    expect(made.created_by).toBe(admin.id)
    expect((await rotate(made.id, {}, admin.key)).status).toBe(200)
    expect((await revoke(made.id, admin.key)).status).toBe(204)
  })
})

describe('403 not_own_key', () => {
  const SCOPES = ['keys:write', 'keys:read']
  const make = async (by: string): Promise<{ readonly id: string; readonly key: string }> =>
    succeed(create({ name: 'of a line', scopes: SCOPES }, by))
  const refused = { status: 403, body: { code: 'not_own_key' } }

  it('is told of a key that another line made, and nothing of it changes', async () => {
    const [one, other] = [await make(server.key), await make(server.key)]
    const child = await make(other.key)
    const before = await stored(server)
    for (const { id } of [other, child])
      for (const body of [undefined, { grace_seconds: 0 }])
        expect(await rotate(id, body, one.key)).toMatchObject(refused)
    expect(await stored(server)).toEqual(before)
    expect([await whoAmI(other.key), await whoAmI(child.key)]).toEqual([200, 200])
  })

  it('is told of the key that made the caller, and of another that it made', async () => {
    const parent = await make(server.key)
    const [child, sibling] = [await make(parent.key), await make(parent.key)]
    for (const { id } of [parent, sibling]) expect(await rotate(id, {}, child.key)).toMatchObject(refused)
  })

  it('is not told of the key itself, of what it made, and of what that made, whatever became of the keys between', async () => {
    const root = await make(server.key)
    const child = await make(root.key)
    const grandchild = await make(child.key)
    expect((await rotate(root.id, {}, root.key)).status).toBe(200)
    expect((await rotate(grandchild.id, {}, child.key)).status).toBe(200)
    await succeed(revoke(child.id))
    const { key } = await succeed(rotate(grandchild.id, { grace_seconds: 0 }, root.key))
    expect([await whoAmI(grandchild.key), await whoAmI(key)]).toEqual([401, 200])
    expect(await rotate(child.id, {}, root.key)).toMatchObject({ status: 404 })
  })

  it('is not told by * of any key, also one that nobody made', async () => {
    const [admin, stranger] = [await makeKey(server, ['*']), await make(server.key)]
    expect((await rotate(stranger.id, {}, admin.key)).status).toBe(200)
    expect((await rotate(self, {}, admin.key)).status).toBe(200)
  })

  it('is told of a key that the operator made on the machine, to all but itself and *', async () => {
    const text = generateKeyText()
    const command = { key: { name: 'made', scopes: ['keys:write', 'keys:read'] as const }, secret: secretOf(text) }
    const path = await submitCommand(server.dataDir, command)
    await until('a result', async () => (await readResult(path)) ?? undefined)
    await withdrawCommand(path)
    const made = await succeed(server.call('GET', '/v1/keys/self', { key: text }))
    expect(made.created_by).toBeNull()
    expect(await rotate(made.id, {}, (await make(server.key)).key)).toMatchObject(refused)
    for (const key of [text, server.key]) expect((await rotate(made.id, {}, key)).status).toBe(200)
  })

  it('comes after 404 and key_too_wide, and before a reused idempotency key; a replay needs no right again', async () => {
    const [one, other] = [await make(server.key), await make(server.key)]
    const wide = await makeKey(server, [...SCOPES, 'audit:read'])
    expect(await rotate('key_00000000000000000000000000', {}, one.key)).toMatchObject({ status: 404 })
    expect(await rotate(wide.id, {}, one.key)).toMatchObject({ status: 403, body: { code: 'key_too_wide' } })
    const once = (id: string, body: object) =>
      server.call('POST', `/v1/keys/${id}/rotate`, { body, key: one.key, headers: { 'Idempotency-Key': 'again' } })
    const child = await make(one.key)
    const { key, ...rotated } = await succeed(once(child.id, {}))
    expect(await once(child.id, {})).toMatchObject({ status: 200, body: rotated })
    expect((await once(child.id, {})).body).not.toHaveProperty('key')
    for (const body of [{}, { grace_seconds: 1 }]) expect(await once(other.id, body)).toMatchObject(refused)
  })

  it('is not told of revoking: a key that leaked is ended by anyone who sees it', async () => {
    const [one, other] = [await make(server.key), await make(server.key)]
    expect((await revoke(other.id, one.key)).status).toBe(204)
  })
})

describe('409 last_admin_key', () => {
  it('keeps the last live * key alive', async () => {
    const alone = await runServer()
    try {
      const root = (await succeed(alone.call('GET', '/v1/keys/self'))).id
      const refused = {
        status: 409,
        body: { code: 'last_admin_key', title: 'This is the last live key with the scope *.' },
      }
      const before = await stored(alone)
      expect(await revoke(root, alone.key, alone)).toMatchObject(refused)
      expect(await stored(alone)).toEqual(before)
      await makeKey(alone, ['keys:write', 'keys:read'])
      const short = await makeKey(alone, ['*'], {
        expires_at: new Date(alone.clock.now().getTime() + 1000).toISOString(),
      })
      alone.clock.advance(1000)
      expect(await revoke(root, alone.key, alone)).toMatchObject(refused)
      expect((await revoke(short.id, alone.key, alone)).status).toBe(204)
      const other = await makeKey(alone, ['*'])
      expect((await revoke(root, other.key, alone)).status).toBe(204)
      expect(await revoke(other.id, other.key, alone)).toMatchObject(refused)
      expect((await alone.call('GET', '/v1/keys/self', { key: alone.key })).status).toBe(401)
    } finally {
      await alone.stop()
    }
  })

  it('keeps one of the last two when both are revoked at once', async () => {
    for (let round = 0; round < 5; round++) {
      const pair = await runServer()
      try {
        const root = (await succeed(pair.call('GET', '/v1/keys/self'))).id
        const other = await makeKey(pair, ['*'])
        const answers = await Promise.all([revoke(root, other.key, pair), revoke(other.id, pair.key, pair)])
        const statuses = answers.map(({ status }) => status).sort()
        // 401 when the caller's own key was revoked before its call came in.
        expect([401, 409]).toContain(statuses[1])
        expect(statuses[0]).toBe(204)
        const alive = await Promise.all(
          [pair.key, other.key].map(async (key) => (await pair.call('GET', '/v1/keys', { key })).status),
        )
        expect(alive.sort()).toEqual([200, 401])
      } finally {
        await pair.stop()
      }
    }
  })
})

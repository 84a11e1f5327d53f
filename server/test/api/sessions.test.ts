/** Sessions of the dashboard: who may start one, what it may do, and when it ends. */
import { LIMITS } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { databaseOf, ON_MONGODB } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import { type BrowserSession, fromOwnPage, sendRaw, sessionOf, signInWith } from './browser-session.js'
import { FaultyStore } from './faulty-store.js'
import { ALLOWED, createPolicy, everyItem, makeKey, REFUNDS, REVIEWED, succeed } from './refunds.js'
import { dumpOf } from './stored.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, REFUNDS)
})
afterAll(() => server.stop())

const PATH = '/dashboard/session'
const signIn = (body: unknown, headers: Record<string, string | undefined> = fromOwnPage(server)) =>
  sendRaw(server, 'POST', PATH, { body, headers })
const codeOf = (on = server) => on.started.composed.signInCode() as string
const isSignedIn = async (one: BrowserSession) => (await one.send('GET', '/dashboard/v1/keys/self')).status === 200

describe('signing in', () => {
  it('with a key starts a session of the key, in a cookie that no script can read', async () => {
    const { id, key } = await makeKey(server, ['decisions:read'])
    const answer = await signIn({ key })
    expect(answer.status).toBe(201)
    const { port } = new URL(server.url)
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(
        new RegExp(
          `^countersign_session_${port}=[A-Za-z0-9_-]{43}; Path=/dashboard; Max-Age=43200; HttpOnly; SameSite=Strict$`,
        ),
      ),
    ])
    expect(answer.body).toEqual({
      key: expect.objectContaining({ id, scopes: ['decisions:read'] }),
      expires_at: new Date(server.clock.now().getTime() + LIMITS.sessionSeconds * 1000).toISOString(),
      csrf_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    })
    expect(answer.text).not.toContain(key)
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store' })
  })

  it('with a code works once, as the oldest key that may do everything', async () => {
    const code = codeOf()
    const answers = await Promise.all([signIn({ code }), signIn({ code }), signIn({ code })])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401])
    const self = await succeed(server.call('GET', '/v1/keys/self'))
    expect(answers.find(({ status }) => status === 201)?.body.key.id).toBe(self.id)
    expect(answers.find(({ status }) => status === 401)?.body.detail).toContain('The link was used')
  })

  it('with a code works for 10 minutes', async () => {
    const [one, other] = [codeOf(), codeOf()]
    server.clock.advance(599_999)
    expect((await signIn({ code: one })).status).toBe(201)
    server.clock.advance(1)
    expect((await signIn({ code: other })).status).toBe(401)
  })

  it.each([
    ['an unknown key', { key: `cs_sk_${'a'.repeat(49)}` }, 401],
    ['a code in place of a key', () => ({ key: codeOf() }), 401],
    ['a key in place of a code', () => ({ code: server.key }), 401],
    ['no body', {}, 400],
    ['both', () => ({ key: server.key, code: codeOf() }), 400],
    ['no text', { key: 1 }, 400],
    ['broken JSON', '{"key":', 400],
  ])('with %s is refused', async (_, body, status) => {
    const answer = await signIn(typeof body === 'function' ? body() : body)
    expect(answer.status).toBe(status)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.text).not.toContain(server.key)
  })

  it('with a code that met a fault of the store works the next time', async () => {
    const faulty = new FaultyStore()
    const other = await runServer({ parts: { openStore: faulty.open } })
    const code = codeOf(other)
    const send = () => sendRaw(other, 'POST', PATH, { body: { code }, headers: fromOwnPage(other) })
    faulty.faults.set('commit', new StoreUnavailableError('The disk is full.'))
    expect((await send()).status).toBe(503)
    faulty.faults.clear()
    await until('the store to answer', async () => ((await send()).status === 201 ? true : undefined))
    expect((await send()).status).toBe(401)
    await other.stop()
  })

  it('is limited as any call of the key', async () => {
    const other = await runServer({ settings: { rateLimitPerSecond: 2 } })
    const send = () =>
      sendRaw(other, 'POST', PATH, { body: { key: other.key }, headers: fromOwnPage(other) }).then(
        ({ status }) => status,
      )
    expect([await send(), await send(), await send()]).toEqual([201, 201, 429])
    await other.stop()
  })

  it('with a revoked or expired key is refused', async () => {
    const revoked = await makeKey(server, ['decisions:read'])
    await succeed(server.call('DELETE', `/v1/keys/${revoked.id}`))
    const end = new Date(server.clock.now().getTime() + 60_000).toISOString()
    const expired = await makeKey(server, ['decisions:read'], { expires_at: end })
    expect((await signIn({ key: expired.key })).status).toBe(201)
    server.clock.advance(60_000)
    for (const { key } of [revoked, expired]) expect((await signIn({ key })).status).toBe(401)
  })

  it('is written into the audit log, and so is signing out', async () => {
    const { id, key } = await makeKey(server, ['audit:read'])
    const one = await signInWith(server, key)
    await one.send('DELETE', PATH)
    const entries = (await everyItem(server, '/v1/audit')).filter(({ subject }) => subject === id)
    expect(entries.map(({ type, actor }) => [type, actor])).toEqual([
      ['key.signed_out', id],
      ['key.signed_in', id],
      ['key.created', expect.any(String)],
    ])
  })
})

describe('where a page is', () => {
  const at = (origin: string) => signIn({ key: server.key }, { Origin: origin, Host: new URL(origin).host })

  it('over HTTPS gets a cookie for HTTPS alone', async () => {
    const answer = await at('https://authz.example')
    expect([answer.status, answer.headers['set-cookie']]).toEqual([
      201,
      [expect.stringMatching(/^countersign_session=.*; Secure$/)],
    ])
  })

  it.each([
    'http://localhost:8787',
    'http://127.0.0.1',
    'http://127.9.9.9:1',
    'http://[::1]:8787',
    'http://a.localhost',
  ])('at %s signs in without HTTPS: it is the machine of the browser', async (origin) => {
    const answer = await at(origin)
    expect(answer.status).toBe(201)
    expect(String(answer.headers['set-cookie'])).not.toContain('Secure')
  })

  it('is the same page with the port of its scheme', async () => {
    const headers = { Origin: 'https://authz.example', Host: 'authz.example:443' }
    expect((await signIn({ key: server.key }, headers)).status).toBe(201)
  })

  it.each(['http://authz.example', 'http://10.0.0.5:8787', 'http://127.0.0.1.example', 'http://localhost.example'])(
    'at %s cannot sign in, and is told the fix',
    async (origin) => {
      const answer = await at(origin)
      expect(answer).toMatchObject({ status: 403, body: { code: 'insecure_origin' } })
      expect(answer.body.detail).toContain(origin)
      expect(answer.body.detail).toContain('ssh -L 8787:127.0.0.1:8787')
      expect(answer.headers['set-cookie']).toBeUndefined()
    },
  )
})

describe('a session', () => {
  it('has the rights of its key, and no more', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    const one = await signInWith(server, key)
    expect((await one.send('GET', '/dashboard/v1/decisions')).status).toBe(200)
    const refused = await one.send('POST', '/dashboard/v1/policies', { body: REFUNDS })
    expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
  })

  it('sees only what the agents of its key do', async () => {
    const { key } = await makeKey(server, ['decisions:read', 'decisions:write'], { agents: ['agent:other'] })
    const decided = await succeed(server.call('POST', '/v1/decisions', { body: ALLOWED }))
    const one = await signInWith(server, key)
    expect((await one.send('GET', `/dashboard/v1/decisions/${decided.id}`)).status).toBe(404)
  })

  it('is no key: /v1 takes bearer tokens only, and /dashboard/v1 sessions only', async () => {
    const one = await signInWith(server)
    const text = one.cookie.split('=')[1] as string
    expect((await sendRaw(server, 'GET', '/v1/keys/self', { headers: { Cookie: one.cookie } })).status).toBe(401)
    expect((await server.call('GET', '/v1/keys/self', { key: text })).status).toBe(401)
    const bearer = { Authorization: `Bearer ${server.key}` }
    expect((await sendRaw(server, 'GET', '/dashboard/v1/keys/self', { headers: bearer })).status).toBe(401)
  })

  it('never sees a permit, also where its key asked', async () => {
    const one = await signInWith(server)
    const asked = await one.send('POST', '/dashboard/v1/decisions', { body: ALLOWED })
    expect(asked).toMatchObject({ status: 200, body: { status: 'authorized' } })
    const read = await one.send('GET', `/dashboard/v1/decisions/${asked.body.id}`)
    const list = await one.send('GET', '/dashboard/v1/decisions')
    const review = await one.send('POST', '/dashboard/v1/decisions', { body: REVIEWED })
    const approved = await one.send('POST', `/dashboard/v1/decisions/${review.body.id}/approve`, { body: {} })
    const claimed = await one.send('POST', `/dashboard/v1/decisions/${review.body.id}/claim`, { body: { holder: 'x' } })
    expect([read, list, approved, claimed].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const { text } of [asked, read, list, approved, claimed]) expect(text).not.toMatch(/permit_token|eyJ/)
    expect((await server.call('GET', `/v1/decisions/${asked.body.id}`)).body.permit_token).toMatch(/^eyJ/)
  })

  it('ends after 12 hours', async () => {
    const one = await signInWith(server)
    server.clock.advance(LIMITS.sessionSeconds * 1000 - 1)
    expect(await isSignedIn(one)).toBe(true)
    server.clock.advance(1)
    expect(await isSignedIn(one)).toBe(false)
    expect((await one.send('GET', PATH)).status).toBe(204)
  })

  it('ends at a sign-out, and no other with it', async () => {
    const [one, other] = [await signInWith(server), await signInWith(server)]
    const answer = await one.send('DELETE', PATH)
    expect(answer.status).toBe(204)
    expect(String(answer.headers['set-cookie'])).toMatch(/=; Path=\/dashboard; Max-Age=0;/)
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([false, true])
    expect((await one.send('DELETE', PATH)).status).toBe(204)
  })

  it('ends with its key', async () => {
    const { id, key } = await makeKey(server, ['decisions:read'])
    const one = await signInWith(server, key)
    await succeed(server.call('DELETE', `/v1/keys/${id}`))
    expect(await isSignedIn(one)).toBe(false)
  })

  it('goes on when its key gets a new secret with a grace, and ends without one', async () => {
    const { id, key } = await makeKey(server, ['decisions:read'])
    const one = await signInWith(server, key)
    await succeed(server.call('POST', `/v1/keys/${id}/rotate`, { body: { grace_seconds: 60 } }))
    expect(await isSignedIn(one)).toBe(true)
    await succeed(server.call('POST', `/v1/keys/${id}/rotate`, { body: { grace_seconds: 0 } }))
    expect(await isSignedIn(one)).toBe(false)
    expect((await signIn({ key })).status).toBe(401)
  })

  it('ends with a sign-in by the same browser', async () => {
    const one = await signInWith(server)
    const headers = { ...fromOwnPage(server), Cookie: one.cookie }
    const again = await sendRaw(server, 'POST', PATH, { body: { key: server.key }, headers })
    expect([await isSignedIn(one), await isSignedIn(sessionOf(server, again))]).toEqual([false, true])
  })

  it('lasts no longer than its key', async () => {
    const expires_at = new Date(server.clock.now().getTime() + 60_000).toISOString()
    const one = await signInWith(server, (await makeKey(server, ['decisions:read'], { expires_at })).key)
    expect(one.session.expires_at).toBe(expires_at)
  })

  it('ends when its key has started ten more', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    const first = await signInWith(server, key)
    const more: BrowserSession[] = []
    for (let i = 0; i < LIMITS.sessions; i++) more.push(await signInWith(server, key))
    expect(await isSignedIn(first)).toBe(false)
    expect(await Promise.all(more.map(isSignedIn))).toEqual(more.map(() => true))
  })

  it('says who is signed in, and 204 where nobody is', async () => {
    const one = await signInWith(server)
    expect((await one.send('GET', PATH)).body).toEqual(one.session)
    expect((await sendRaw(server, 'GET', PATH)).status).toBe(204)
    expect((await one.send('GET', PATH, { headers: { Cookie: 'countersign_session=x' } })).status).toBe(204)
  })

  it('is in the store by its hash alone', async () => {
    const one = await signInWith(server)
    const text = one.cookie.split('=')[1] as string
    const dump = ON_MONGODB ? await dumpOf(databaseOf(server.dataDir)) : await filesOf(server.dataDir)
    expect(dump).toContain('key.signed_in')
    expect(dump).not.toContain(text)
    expect(dump).not.toContain(one.session.csrf_token)
  })

  it('goes on after a restart, and a code does not', async () => {
    const first = await runServer()
    const one = await signInWith(first)
    const code = codeOf(first)
    const again = await first.restart()
    const moved = { ...one, cookie: one.cookie.replace(/^[^=]*/, `countersign_session_${new URL(again.url).port}`) }
    const headers = { Cookie: moved.cookie }
    expect((await sendRaw(again, 'GET', '/dashboard/v1/keys/self', { headers })).status).toBe(200)
    const late = await sendRaw(again, 'POST', PATH, { body: { code }, headers: fromOwnPage(again) })
    expect(late.status).toBe(401)
    await again.stop()
  })
})

describe('a change by a page of somebody else', () => {
  const FOREIGN = 'https://evil.example'
  const without = { 'X-CSRF-Token': undefined }
  /** What a page elsewhere can make the browser of a signed-in person send. */
  const VARIANTS: readonly (readonly [string, Record<string, string | undefined>])[] = [
    ['without a token', without],
    ['with an empty token', { 'X-CSRF-Token': '' }],
    ['with a token of its own', { 'X-CSRF-Token': 'a'.repeat(43) }],
    ['with a token that is the cookie', { 'X-CSRF-Token': 'cookie' }],
    ['with the token of another session', { 'X-CSRF-Token': 'other' }],
    ['from another site', { ...without, Origin: FOREIGN, 'Sec-Fetch-Site': 'cross-site' }],
    ['from another site that knows the token', { Origin: FOREIGN, 'Sec-Fetch-Site': 'cross-site' }],
    ['from a browser that only says its origin', { Origin: FOREIGN, 'Sec-Fetch-Site': undefined }],
    ['from a sandboxed frame', { ...without, Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }],
    ['from a page of another port', { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' }],
    ['as a form sends it', { ...without, 'Content-Type': 'application/x-www-form-urlencoded', Origin: FOREIGN }],
    ['as text without a preflight', { ...without, 'Content-Type': 'text/plain', 'Sec-Fetch-Site': 'same-site' }],
    ['typed by the person', { ...without, Origin: undefined, 'Sec-Fetch-Site': 'none' }],
    ['with another host', { Host: 'rebound.example', Cookie: 'unported' }],
  ]

  it.each(VARIANTS)('%s has no effect', async (_, changes) => {
    const one = await signInWith(server)
    const other = await signInWith(server)
    const headers: Record<string, string | undefined> = { ...changes }
    if (headers['X-CSRF-Token'] === 'cookie') headers['X-CSRF-Token'] = one.cookie.split('=')[1]
    if (headers.Cookie === 'unported') headers.Cookie = one.cookie.replace(/_\d+=/, '=')
    if (headers['X-CSRF-Token'] === 'other') headers['X-CSRF-Token'] = other.session.csrf_token
    const before = (await succeed(server.call('GET', '/v1/keys?limit=200'))).data.length
    const changesOfServer = [
      await one.send('POST', '/dashboard/v1/keys', { body: { name: 'stolen', scopes: ['*'] }, headers }),
      await one.send('POST', '/dashboard/v1/agents/agent:x/suspend', { body: {}, headers }),
      await one.send('DELETE', `/dashboard/v1/keys/${one.session.key.id}`, { headers }),
      await one.send('DELETE', PATH, { headers }),
    ]
    for (const { status } of changesOfServer) expect([401, 403, 204]).toContain(status)
    expect(changesOfServer.slice(0, 3).every(({ status }) => status === 401 || status === 403)).toBe(true)
    expect((await succeed(server.call('GET', '/v1/keys?limit=200'))).data).toHaveLength(before)
    expect((await server.call('GET', '/v1/agents/agent:x')).status).toBe(404)
    expect(await isSignedIn(one)).toBe(true)
  })

  it.each([
    ['reads nothing', 'GET', '/dashboard/v1/decisions'],
    ['follows no events', 'GET', '/dashboard/v1/events'],
    ['does not learn who is signed in', 'GET', PATH],
  ])('%s', async (_, method, path) => {
    const one = await signInWith(server)
    const answer = await one.send(method, path, { headers: { Origin: FOREIGN, 'Sec-Fetch-Site': 'cross-site' } })
    expect(answer).toMatchObject({ status: 403, body: { code: 'cross_origin' } })
  })

  it('cannot sign the browser in as somebody else', async () => {
    for (const headers of [
      { Origin: FOREIGN, 'Sec-Fetch-Site': 'cross-site' },
      { Origin: FOREIGN },
      { 'Sec-Fetch-Site': 'same-site', Origin: server.url },
      {},
    ])
      expect((await signIn({ key: server.key }, headers)).body.code).toBe('cross_origin')
  })

  it('is none of the same that a page of the dashboard sends', async () => {
    const one = await signInWith(server)
    const made = await one.send('POST', '/dashboard/v1/keys', { body: { name: 'mine', scopes: ['decisions:read'] } })
    expect(made.status).toBe(201)
    expect(sessionOf(server, { ...made, body: one.session }).session).toBe(one.session)
  })
})

async function filesOf(folder: string): Promise<string> {
  const { readdir, readFile } = await import('node:fs/promises')
  const { join } = await import('node:path')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  // A temporary file may have been renamed since it was listed.
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.tmp'))
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')))).join('\n')
}

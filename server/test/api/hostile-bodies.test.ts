/**
 * Bodies that no honest caller sends, over every member that a body can have: each is refused with the place named, and
 * nothing of it stays.
 */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CallOptions, type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, allowing('mail.send'))
  await decide(server, { agent_id: 'agent:a', action: 'mail.send' })
  await succeed(server.call('POST', '/v1/agents', { body: { id: 'agent:known' } }))
  keyPath = `/v1/keys/${(await makeKey(server, ['keys:read'])).id}/rotate`
})
afterAll(() => server.stop())

let keyPath: string
/** The body is looked at before the decision is. */
const decisionPath = '/v1/decisions/dec_01kagx3v5ne8sr6w1y6gqk4t2h'
const webhookPath = '/v1/webhooks/whk_01kagx3v5ne8sr6w1y6gqk4t2h'

interface Hostile {
  readonly name: string
  readonly method?: string
  readonly path: () => string
  readonly options: CallOptions
  readonly isChunked?: boolean
  /** The places that have to be named; absent where the text itself is refused. */
  readonly pointers?: readonly string[]
}

/** A good body of each endpoint, as text with one member replaced by `?`. */
const GOOD: readonly {
  readonly path: () => string
  readonly method?: string
  readonly members: Readonly<Record<string, string>>
}[] = [
  {
    path: () => '/v1/decisions',
    members: {
      agent_id: '"agent:a"',
      action: '"mail.send"',
      resource: '"mail:1"',
      context: '{"amount":1}',
      holder: '"run-1"',
    },
  },
  {
    path: () => '/v1/policies',
    members: {
      name: '"hostile"',
      rules: '[{"action":"a.b","effect":"deny"}]',
      agents: '["agent:*"]',
      priority: '1',
      enabled: 'true',
      mode: '"shadow"',
      description: '"…"',
    },
  },
  {
    path: () => '/v1/agents',
    members: { id: '"agent:hostile"', name: '"x"', description: '"x"', metadata: '{"level":1}' },
  },
  {
    path: () => '/v1/agents/agent:known',
    method: 'PUT',
    members: { name: '"x"', description: '"x"', metadata: '{"level":1}' },
  },
  { path: () => '/v1/agents/agent:known/suspend', members: { reason: '"x"' } },
  {
    path: () => '/v1/keys',
    members: { name: '"x"', scopes: '["keys:read"]', agents: '["agent:a"]', expires_at: '"2027-01-01T00:00:00.000Z"' },
  },
  { path: () => keyPath, members: { grace_seconds: '60' } },
  { path: () => `${decisionPath}/confirm`, members: { amount: '1', note: '"x"' } },
  { path: () => `${decisionPath}/reject`, members: { reason: '"x"' } },
  { path: () => `${decisionPath}/correct`, members: { result: '"confirmed"', amount: '1', note: '"x"' } },
  { path: () => `${decisionPath}/approve`, members: { comment: '"x"', exceed_budget: 'true' } },
  { path: () => `${decisionPath}/decline`, members: { comment: '"x"' } },
  { path: () => `${decisionPath}/claim`, members: { holder: '"run-1"' } },
  { path: () => '/v1/permits/redeem', members: { permit_token: '"a.b.c"' } },
  { path: () => '/v1/capabilities', members: { agent_id: '"agent:a"', actions: '["mail.send"]' } },
  {
    path: () => '/v1/webhooks',
    members: {
      url: '"https://example.com/hook"',
      events: '["decision.created"]',
      description: '"x"',
      enabled: 'true',
    },
  },
  { path: () => `${webhookPath}/rotate-secret`, members: { grace_seconds: '60' } },
  {
    path: () => `${webhookPath}/replay`,
    members: { since: '"2026-11-01T00:00:00.000Z"', until: '"2026-11-02T00:00:00.000Z"' },
  },
  { path: () => '/v1/simulate', members: { request: '{"agent_id":"agent:a","action":"mail.send"}', policies: '[]' } },
]

/** What stands where a value should be: for any member, these are refused by the reader of the text. */
const NO_STRICT_JSON: readonly (readonly [name: string, value: string])[] = [
  ['a key twice', '{"k":1,"k":2}'],
  ['a key twice, once escaped', '{"k":1,"\\u006b":2}'],
  ['__proto__', '{"__proto__":{"admin":true}}'],
  ['constructor', '{"a":[{"constructor":{}}]}'],
  ['prototype, escaped', '{"\\u0070rototype":1}'],
  ['an infinite number', '1e999'],
  ['a whole number that no double holds', '9007199254740993'],
  ['a high surrogate alone', '"\\ud800"'],
  ['a low surrogate alone in a key', '{"\\udc00":1}'],
  ['40 levels of arrays', `${'['.repeat(40)}${']'.repeat(40)}`],
  ['40 levels of objects', `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`],
  ['60 KB of open brackets', '['.repeat(60_000)],
  ['NaN', 'NaN'],
  ['a comment', '1/* */'],
  ['single quotes', "'x'"],
  ['a raw NUL', '"\0"'],
]

/** For any member, these are of the wrong type or form. */
const WRONG_VALUES = ['12.5', 'true', '"\\u0000"', '[[[]]]', '{"$ne":null}'] as const

/** The few of them that are right for a member: a text without a form of its own may hold any character. */
function isRight(member: string, value: string): boolean {
  if (value === 'true') return member === 'enabled' || member === 'exceed_budget'
  if (value === '12.5') return member === 'amount'
  const texts = ['name', 'holder', 'description', 'reason', 'note', 'comment', 'permit_token']
  return value.startsWith('"') && texts.includes(member)
}

function bodyWith(members: Readonly<Record<string, string>>, name: string, value: string): string {
  const all = Object.entries({ ...members, [name]: value })
  return `{${all.map(([key, text]) => `"${key}":${text}`).join(',')}}`
}

const IN_A_MEMBER = GOOD.flatMap(({ path, method, members }) =>
  Object.entries(members).flatMap(([member, good]): Hostile[] => {
    const base = { path, ...(method !== undefined && { method }) }
    const texts = NO_STRICT_JSON.map(([what, value]) => ({
      ...base,
      name: `${what} in ${member}`,
      options: { body: bodyWith(members, member, value) },
    }))
    const values = WRONG_VALUES.filter((value) => !isRight(member, value)).map((value) => ({
      ...base,
      name: `${value} in ${member}`,
      options: { body: bodyWith(members, member, value) },
      pointers: [`/${member}`],
    }))
    const odd = {
      ...base,
      name: `an unknown member beside ${member}`,
      options: { body: bodyWith(members, `${member}\\u200b`, good) },
      pointers: [`/${member}\u200b`],
    }
    return [...texts, ...values, odd]
  }),
)

const DECISION = '{"agent_id":"agent:a","action":"mail.send"}'
const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))

const WHOLE: readonly Hostile[] = GOOD.flatMap(({ path, method, members }): Hostile[] => {
  const good = bodyWith(members, Object.keys(members)[0] as string, Object.values(members)[0] as string)
  const base = { path, ...(method !== undefined && { method }) }
  const text = (name: string, body: string | Uint8Array, headers = {}) => ({
    ...base,
    name,
    options: { body, headers },
  })
  return [
    text('a byte order mark', bytes([0xef, 0xbb, 0xbf], good)),
    text('UTF-16', Buffer.from(good, 'utf16le')),
    text('invalid UTF-8', bytes(good.slice(0, -1), [0x2c, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])),
    text('two values', `${good}${good}`),
    text('something behind the end', `${good}\0`),
    text('no end', good.slice(0, -1)),
    text('a trailing comma', `${good.slice(0, -1)},}`),
    text('nothing but blanks', ' \n\t '),
    text('gzip', gzipSync(good), { 'Content-Encoding': 'gzip' }),
    text('gzip without saying so', gzipSync(good)),
    text('a form', 'agent_id=agent:a&action=mail.send', { 'Content-Type': 'application/x-www-form-urlencoded' }),
    text('UTF-7', good, { 'Content-Type': 'application/json; charset=utf-7' }),
    text('a byte too much', good.padEnd((path() === '/v1/decisions' ? 64 : 256) * 1024 + 1)),
    { ...base, name: 'a byte too much, in chunks', options: { body: good.padEnd(256 * 1024 + 1) }, isChunked: true },
    { ...base, name: 'half a megabyte of numbers', options: { body: `[${'1,'.repeat(250_000)}1]` } },
    { ...base, name: 'an array', options: { body: `[${good}]` }, pointers: [''] },
    { ...base, name: 'a text', options: { body: JSON.stringify(good) }, pointers: [''] },
  ]
})

const DECISIONS: readonly Hostile[] = [
  ...[
    ['a member of another case', `{"Agent_id":"agent:a","action":"mail.send"}`, ['/Agent_id', '/agent_id']],
    [
      'dots in a key of the context',
      `{"agent_id":"agent:a","action":"mail.send","context":{"a":{"b.c":1}}}`,
      ['/context/a/b.c'],
    ],
    [
      'an operator as a key, deep',
      `{"agent_id":"agent:a","action":"mail.send","context":{"a":[{"b":{"$gt":1}}]}}`,
      ['/context/a/0/b/$gt'],
    ],
    [
      'a control character in a key',
      `{"agent_id":"agent:a","action":"mail.send","context":{"a\\u0000":1}}`,
      ['/context/a\u0000'],
    ],
    [
      'a key of 129 characters',
      `{"agent_id":"agent:a","action":"mail.send","context":{"${'k'.repeat(129)}":1}}`,
      [`/context/${'k'.repeat(129)}`],
    ],
    ['a wildcard as agent', `{"agent_id":"agent:*","action":"mail.send"}`, ['/agent_id']],
    ['a wildcard as action', `{"agent_id":"agent:a","action":"*"}`, ['/action']],
    ['a line break in an agent', `{"agent_id":"agent:a\\n","action":"mail.send"}`, ['/agent_id']],
    ['letters that look alike', `{"agent_id":"\\u0430gent:a","action":"mail.send"}`, ['/agent_id']],
    [
      'a resource that is not NFC',
      `{"agent_id":"agent:a","action":"mail.send","resource":"file:e\\u0301"}`,
      ['/resource'],
    ],
    [
      'a resource with a bidi override',
      `{"agent_id":"agent:a","action":"mail.send","resource":"file:\\u202egpj.exe"}`,
      ['/resource'],
    ],
    [
      'a resource with a zero-width space',
      `{"agent_id":"agent:a","action":"mail.send","resource":"file:\\u200b"}`,
      ['/resource'],
    ],
    [
      'a resource of 64,000 accents',
      `{"agent_id":"agent:a","action":"mail.send","resource":"file:${'\\u0301'.repeat(10_000)}"}`,
      ['/resource'],
    ],
    ['everything null', '{"agent_id":null,"action":null}', ['/action', '/agent_id']],
    [
      'what the server decides',
      `{"agent_id":"agent:a","action":"mail.send","effect":"allow","status":"authorized","permit_token":"x"}`,
      ['/effect', '/permit_token', '/status'],
    ],
    [
      'a thousand unknown members',
      `{"agent_id":"agent:a","action":"mail.send",${Array.from({ length: 1000 }, (_, i) => `"m${String(i).padStart(4, '0')}":1`).join(',')}}`,
      Array.from({ length: 1000 }, (_, i) => `/m${String(i).padStart(4, '0')}`),
    ],
  ].map(([name, body, pointers]) => ({ name, path: () => '/v1/decisions', options: { body }, pointers }) as Hostile),
  {
    name: 'a length that is none',
    path: () => '/v1/decisions',
    options: { body: DECISION, headers: { 'Content-Type': '' } },
  },
]

const ALL = [...IN_A_MEMBER, ...WHOLE, ...DECISIONS]

async function send({ path, method = 'POST', options, isChunked }: Hostile) {
  const body = isChunked === true ? new Blob([options.body as string]).stream() : options.body
  return server.call(method, path(), { ...options, body })
}

describe('hostile bodies', () => {
  it('are many, over every member of every body', () => {
    expect(ALL.length).toBeGreaterThanOrEqual(200)
    const paths = new Set(
      GOOD.map(
        ({ method = 'POST', path }) => `${method} ${path().replace(/(key_|dec_|whk_|agent:known)[^/]*/, '{id}')}`,
      ),
    )
    // What `policies.validate` and PUT of a policy or webhook take, POST takes too. The last ones have no members.
    const same = ['policies.validate', 'policies.replace', 'policies.putByName', 'webhooks.update']
    const others = [...same, 'agents.resume', 'webhooks.test', 'webhooks.retry']
    const left = server.started.composed.routes
      .filter(({ body, name }) => body !== undefined && !others.includes(name))
      .map(({ method, path }) => `${method} ${path}`)
    expect([...paths].sort()).toEqual(left.sort())
    for (const { path, method = 'POST', members } of GOOD) {
      const route = server.started.composed.routes.find(
        (one) => one.method === method && one.path === path().replace(/(key_|dec_|whk_|agent:known)[^/]*/, '{id}'),
      )
      const shape = Object.keys((route?.body?.schema as { shape?: object } | undefined)?.shape ?? {})
      for (const member of shape) expect(Object.keys(members), path()).toContain(member)
    }
  })

  it.each(ALL.map((one) => [`${one.method ?? 'POST'} ${one.path()}: ${one.name}`, one] as const))(
    '%s',
    async (_, hostile) => {
      const before = await stored(server)
      const { status, body } = await send(hostile)
      expect([400, 413, 415], JSON.stringify(body)).toContain(status)
      if (hostile.pointers !== undefined) {
        expect(body).toMatchObject({ status: 400, code: 'validation_failed' })
        const pointers: string[] = body.errors.map(({ pointer }: { pointer: string }) => pointer)
        for (const pointer of hostile.pointers)
          expect(
            pointers.some((one) => one === pointer || (pointer !== '' && one.startsWith(`${pointer}/`))),
            `${pointer} in ${pointers}`,
          ).toBe(true)
      } else if (body.code === 'malformed_json') expect(body.detail).toMatch(/^Line \d+, column \d+: .+\.$/s)
      else expect(['body_too_large', 'unsupported_media_type']).toContain(body.code)
      expect(await stored(server)).toEqual(before)
    },
  )

  it('leave the server as it was', async () => {
    expect((await decide(server, { agent_id: 'agent:a', action: 'mail.send' })).effect).toBe('allow')
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})

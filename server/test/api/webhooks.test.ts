/** Webhooks over the API: what they answer, and what they leave in the log. What is sent is in webhook-deliveries.slow.test.ts. */
import { LIMITS } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'
import { everyItem, makeKey, succeed } from './refunds.js'
import { stored } from './stored.js'

const NOTHING = 'whk_01kagx3v5ne8sr6w1y6gqk4t2h'
/** No name server knows it. The feed sends nothing there, as the types are of what does not happen here. */
const URL = 'https://receiver.invalid/hook'
const BODY = { url: URL, events: ['budget.exceeded'] }
const SETTINGS_HASH = expect.stringMatching(/^[\w-]{43}$/)
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

let server: RunningServer
let self: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  self = (await succeed(server.call('GET', '/v1/keys/self'))).id
})
afterAll(() => server.stop())

const now = () => server.clock.now().toISOString()
const create = (body: object = BODY, key = server.key) => server.call('POST', '/v1/webhooks', { body, key })
const made = (body?: object) => succeed(create(body))
const read = (id: string, key = server.key) => server.call('GET', `/v1/webhooks/${id}`, { key })
const replace = (id: string, body: object) => server.call('PUT', `/v1/webhooks/${id}`, { body })
const remove = (id: string) => server.call('DELETE', `/v1/webhooks/${id}`)
const post = (id: string, verb: string, body?: object) => server.call('POST', `/v1/webhooks/${id}/${verb}`, { body })

/** The entries about a webhook, newest first. */
async function auditOf(id: string) {
  const entries = await everyItem(server, '/v1/audit')
  return entries
    .filter(({ subject }) => subject === id)
    .map(({ type, actor, agent_id, data }) => ({ type, actor, agent_id, data }))
}

/** Calls, and sees that nothing changes. */
async function expectRefused(call: () => Promise<Answer>, expected: object): Promise<void> {
  const before = await stored(server)
  expect(await call()).toMatchObject(expected)
  expect(await stored(server)).toEqual(before)
}

describe('POST /v1/webhooks 201', () => {
  it('answers the webhook with its secret, and writes it down without', async () => {
    const { secret, ...webhook } = await made({
      url: `${URL}?token=hidden`,
      events: ['decision.denied', 'budget.exceeded'],
      description: 'the ops room',
    })
    expect(secret).toMatch(SECRET)
    expect(webhook).toEqual({
      id: expect.stringMatching(/^whk_[0-9a-z]{26}$/),
      url: `${URL}?token=hidden`,
      events: ['decision.denied', 'budget.exceeded'],
      description: 'the ops room',
      enabled: true,
      disabled: null,
      created_at: now(),
      updated_at: now(),
      created_by: self,
    })
    expect((await read(webhook.id)).body).toEqual(webhook)
    expect(await auditOf(webhook.id)).toEqual([
      {
        type: 'webhook.created',
        actor: self,
        agent_id: null,
        data: {
          version: 1,
          url: URL,
          events: ['decision.denied', 'budget.exceeded'],
          enabled: true,
          settings_hash: SETTINGS_HASH,
        },
      },
    ])
    await remove(webhook.id)
  })

  it('sends every type, without a description, enabled, unless told', async () => {
    for (const body of [{ url: URL }, { url: URL, events: null, description: null, enabled: null }]) {
      const webhook = await made(body)
      expect(webhook).toMatchObject({ events: null, description: null, enabled: true, disabled: null })
      await remove(webhook.id)
    }
  })

  it('takes a type twice as once, and keeps their order', async () => {
    const { id, events } = await made({ url: URL, events: ['key.revoked', 'key.created', 'key.revoked'] })
    expect(events).toEqual(['key.revoked', 'key.created'])
    await remove(id)
  })

  it('can begin disabled', async () => {
    const webhook = await made({ ...BODY, enabled: false })
    expect(webhook).toMatchObject({ enabled: false, disabled: { at: now(), reason: 'requested' } })
    expect(await auditOf(webhook.id)).toMatchObject([{ type: 'webhook.created', data: { enabled: false } }])
    await remove(webhook.id)
  })

  it.each([
    'https://example.com',
    'https://example.com:443/a',
    'https://example.com:8443/a?b=c',
    'https://xn--bcher-kva.example/',
    'https://93.184.216.34/',
    `https://example.com/${'x'.repeat(LIMITS.webhookUrlLength - 20)}`,
  ])('takes the URL %s', async (url) => {
    const webhook = await made({ ...BODY, url })
    expect(webhook.url).toBe(url)
    await remove(webhook.id)
  })
})

describe('POST and PUT 400', () => {
  let id: string
  beforeAll(async () => {
    id = (await made()).id
  })
  afterAll(() => remove(id))

  const both = async (body: object, pointer: string): Promise<void> => {
    const expected = { status: 400, body: { code: 'validation_failed', errors: [{ pointer }] } }
    await expectRefused(() => create(body), expected)
    await expectRefused(() => replace(id, body), expected)
  }

  it.each([
    '',
    'example.com',
    '/hook',
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,x',
    'https://',
    'https://example.com:80/',
    'https://example.com:22/',
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://@example.com/',
    'https://example.com/#part',
    'https://exa mple.com/',
    'https://example.com/\n',
    ' https://example.com/',
    'https:\\\\example.com\\',
    'https://example.com/\u0000',
    'https://example.com/\u202egpj',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.0.0.1/',
    'https://017700000001/',
    'https://0.0.0.0/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://100.64.0.1/',
    'https://224.0.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://１２７.0.0.1/',
    `https://example.com/${'x'.repeat(LIMITS.webhookUrlLength)}`,
  ])('is told of the URL %j', (url) => both({ ...BODY, url }, '/url'))

  it('is told of types that are none, and of none', async () => {
    await both({ url: URL, events: [] }, '/events')
    await both({ url: URL, events: ['decision.created', 'decision.claimed'] }, '/events/1')
    // It is sent only to who asks for a test.
    await both({ url: URL, events: ['webhook.test'] }, '/events/0')
    await both({ url: URL, events: ['*'] }, '/events/0')
    await both({ url: URL, events: 'decision.created' }, '/events')
  })

  it('is told of a description that is too long, and of what the server decides', async () => {
    await both({ ...BODY, description: 'x'.repeat(LIMITS.descriptionLength + 1) }, '/description')
    for (const member of ['id', 'secret', 'secrets', 'disabled', 'created_by', 'enabled_at'])
      await both({ ...BODY, [member]: 'x' }, `/${member}`)
  })
})

describe('with private addresses allowed', () => {
  it('takes http, any port and any address, and never a user', async () => {
    const lax = await runServer({ settings: { webhookAllowPrivate: true } })
    try {
      for (const url of ['http://127.0.0.1:9/hook', 'http://localhost:8080/', 'https://10.0.0.1:444/', 'http://[::1]/'])
        await succeed(lax.call('POST', '/v1/webhooks', { body: { ...BODY, url } }))
      for (const url of [
        'http://user:pass@127.0.0.1/',
        'http:user:pass@127.0.0.1/',
        'ftp://127.0.0.1/',
        'file:///etc/passwd',
      ])
        expect(await lax.call('POST', '/v1/webhooks', { body: { ...BODY, url } }), url).toMatchObject({
          status: 400,
          body: { errors: [{ pointer: '/url' }] },
        })
    } finally {
      await lax.stop()
    }
  })
})

describe('409 limit_reached', () => {
  it('keeps to 50 webhooks, also when many come at once, and goes on after one was deleted', async () => {
    const full = await runServer({ settings: { rateLimitPerSecond: 0 } })
    const add = () => full.call('POST', '/v1/webhooks', { body: BODY })
    try {
      const answers = await Promise.all(Array.from({ length: LIMITS.webhooks + 5 }, add))
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(LIMITS.webhooks)
      for (const { status, body } of answers.filter(({ status }) => status !== 201))
        expect({ status, ...body }).toMatchObject({ status: 409, code: 'limit_reached' })
      const [first] = await everyItem(full, '/v1/webhooks')
      expect((await full.call('DELETE', `/v1/webhooks/${first.id}`)).status).toBe(204)
      expect((await add()).status).toBe(201)
      expect(await everyItem(full, '/v1/webhooks')).toHaveLength(LIMITS.webhooks)
      expect(await everyItem(full, '/v1/audit?type=webhook.created')).toHaveLength(LIMITS.webhooks + 1)
    } finally {
      await full.stop()
    }
  })
})

describe('404', () => {
  it('is told of a webhook that nobody made, and of one that was deleted', async () => {
    const { id: deleted } = await made()
    expect((await remove(deleted)).status).toBe(204)
    const calls = (id: string): readonly (() => Promise<Answer>)[] => [
      () => read(id),
      () => replace(id, BODY),
      () => remove(id),
      () => post(id, 'rotate-secret'),
      () => post(id, 'test'),
      () => post(id, 'replay', { since: '2026-11-01T00:00:00.000Z' }),
      () => post(id, `deliveries/dlv_01kagx3v5ne8sr6w1y6gqk4t2h/retry`),
      () => server.call('GET', `/v1/webhooks/${id}/deliveries`),
    ]
    for (const id of [NOTHING, deleted, 'x', '%24ne', '%00', 'whk_'])
      for (const call of calls(id)) await expectRefused(call, { status: 404, body: { code: 'not_found' } })
  })

  it('is told to who repeats the creation of one that was deleted since', async () => {
    const call = { body: BODY, headers: { 'Idempotency-Key': 'deleted-since' } }
    const { id } = await succeed(server.call('POST', '/v1/webhooks', call))
    await remove(id)
    await expectRefused(() => server.call('POST', '/v1/webhooks', call), { status: 404 })
  })
})

describe('PUT /v1/webhooks/{id} 200', () => {
  it('replaces the whole apart from the secret, and writes it down', async () => {
    const { secret: _, ...before } = await made({ ...BODY, description: 'first' })
    server.clock.advance(1000)
    const answer = await replace(before.id, { url: 'https://example.com/other?key=hidden' })
    const after = { ...before, url: 'https://example.com/other?key=hidden', events: null, description: null }
    expect(answer).toMatchObject({ status: 200 })
    expect(answer.body).toEqual({ ...after, updated_at: now() })
    expect((await read(before.id)).body).toEqual(answer.body)
    expect((await auditOf(before.id))[0]).toEqual({
      type: 'webhook.updated',
      actor: self,
      agent_id: null,
      data: {
        version: 2,
        url: 'https://example.com/other',
        events: null,
        enabled: true,
        settings_hash: SETTINGS_HASH,
      },
    })
    await remove(before.id)
  })

  it('disables once, and enables again', async () => {
    const { id } = await made()
    server.clock.advance(1000)
    const at = now()
    expect((await replace(id, { ...BODY, enabled: false })).body).toMatchObject({
      enabled: false,
      disabled: { at, reason: 'requested' },
    })
    server.clock.advance(1000)
    expect((await replace(id, { ...BODY, enabled: false })).body).toMatchObject({
      disabled: { at, reason: 'requested' },
      updated_at: now(),
    })
    for (const [verb, body] of [
      ['test', undefined],
      ['replay', { since: '2026-11-01T00:00:00.000Z' }],
    ] as const)
      await expectRefused(() => post(id, verb, body), { status: 409, body: { code: 'webhook_disabled' } })
    expect((await replace(id, BODY)).body).toMatchObject({ enabled: true, disabled: null })
    expect(await auditOf(id)).toMatchObject([
      { type: 'webhook.updated', data: { enabled: true } },
      { type: 'webhook.updated', data: { enabled: false } },
      { type: 'webhook.disabled', actor: self, data: { enabled: false, reason: 'requested' } },
      { type: 'webhook.created' },
    ])
    await remove(id)
  })

  it('counts each of many that come at once', async () => {
    const { id } = await made()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => replace(id, { ...BODY, description: String(i) })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await auditOf(id)).toHaveLength(11)
    await remove(id)
  })
})

describe('DELETE /v1/webhooks/{id} 204', () => {
  it('removes it, once, and writes it down', async () => {
    const { id } = await made()
    expect(await remove(id)).toMatchObject({ status: 204, body: undefined })
    expect((await everyItem(server, '/v1/webhooks')).map((one) => one.id)).not.toContain(id)
    expect(await auditOf(id)).toMatchObject([{ type: 'webhook.deleted', actor: self, data: {} }, {}])
    await expectRefused(() => remove(id), { status: 404 })
  })

  it('happens once when many come at once', async () => {
    const { id } = await made()
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => remove(id)))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([204, 404, 404, 404, 404])
    expect(await auditOf(id)).toHaveLength(2)
  })
})

describe('POST /v1/webhooks/{id}/rotate-secret', () => {
  it('200 answers a new secret, and writes down that there is one', async () => {
    const { secret, ...before } = await made()
    server.clock.advance(1000)
    const { secret: next, ...after } = await succeed(post(before.id, 'rotate-secret', { grace_seconds: 60 }))
    expect(next).toMatch(SECRET)
    expect(next).not.toBe(secret)
    expect(after).toEqual({ ...before, updated_at: now() })
    expect((await auditOf(before.id))[0]).toMatchObject({
      type: 'webhook.updated',
      actor: self,
      data: { secret_rotated: true, grace_seconds: 60 },
    })
    expect((await auditOf((await rotatedByDefault()).id))[0]).toMatchObject({
      data: { grace_seconds: LIMITS.rotateGraceSecondsDefault },
    })
    await remove(before.id)
  })

  const rotatedByDefault = async () => succeed(post((await made()).id, 'rotate-secret'))

  it('400 is told of a grace that is none', async () => {
    const { id } = await made()
    for (const grace_seconds of [-1, LIMITS.rotateGraceSeconds + 1, 1.5, '60', true])
      await expectRefused(() => post(id, 'rotate-secret', { grace_seconds }), {
        status: 400,
        body: { errors: [{ pointer: '/grace_seconds' }] },
      })
    for (const grace_seconds of [0, LIMITS.rotateGraceSeconds])
      expect((await post(id, 'rotate-secret', { grace_seconds })).status).toBe(200)
    await remove(id)
  })
})

describe('POST /v1/webhooks/{id}/replay', () => {
  let id: string
  beforeAll(async () => {
    id = (await made()).id
    server.clock.advance(60_000)
  })
  afterAll(() => remove(id))
  const since = '2026-11-01T00:00:00.000Z'

  it('202 answers the span: up to now unless told, and never later', async () => {
    for (const [body, until] of [
      [{ since }, now()],
      [{ since, until: null }, now()],
      [{ since, until: '2026-11-02T00:00:00.000Z' }, '2026-11-02T00:00:00.000Z'],
      [{ since, until: '2099-01-01T00:00:00.000Z' }, now()],
    ] as const)
      expect(await post(id, 'replay', body)).toMatchObject({ status: 202, body: { webhook_id: id, since, until } })
  })

  it.each([
    ['/since', {}],
    ['/since', { since: '2026-11-01' }],
    ['/since', { since: 'yesterday' }],
    ['/since', { since: '2026-02-30T00:00:00.000Z' }],
    ['/since', { since: '2026-11-01T00:00:00.000+01:00' }],
    ['/since', { since: '2099-01-01T00:00:00.000Z' }],
    ['/since', { since: '2099-01-01T00:00:00.000Z', until: '2098-01-01T00:00:00.000Z' }],
    ['/until', { since, until: since }],
    ['/until', { since, until: '2026-10-31T23:59:59.999Z' }],
    ['/until', { since, until: 1 }],
  ])('400 names %s of %j', (pointer, body) =>
    expectRefused(() => post(id, 'replay', body), { status: 400, body: { errors: [{ pointer }] } }),
  )

  it('400 is told of a time that is now', () =>
    expectRefused(() => post(id, 'replay', { since: now() }), {
      status: 400,
      body: { errors: [{ pointer: '/since', detail: 'must be in the past' }] },
    }))

  it('409 keeps to 20 at a time, also when many come at once', async () => {
    // None of them ends.
    const endless = (dataDir: string) => openStoreWith(dataDir, () => ({ readers: { remove: async () => {} } }))
    const busy = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore: endless } })
    try {
      const [one, other] = [await makeOn(busy), await makeOn(busy)]
      const replay = (id: string) => busy.call('POST', `/v1/webhooks/${id}/replay`, { body: { since } })
      const answers = await Promise.all(Array.from({ length: LIMITS.replays + 5 }, () => replay(one)))
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(LIMITS.replays)
      expect(answers.filter(({ body }) => body.code === 'limit_reached')).toHaveLength(5)
      expect((await replay(other)).status).toBe(202)
    } finally {
      await busy.stop()
    }
  })

  const makeOn = async (other: RunningServer) =>
    (await succeed(other.call('POST', '/v1/webhooks', { body: BODY }))).id as string
})

describe('a secret', () => {
  it('is in no list, no entry and no line of the log', async () => {
    const token = 'token-in-the-query'
    const { id, secret } = await made({ ...BODY, url: `${URL}?${token}` })
    const { secret: next } = await succeed(post(id, 'rotate-secret'))
    await succeed(post(id, 'test'))
    await replace(id, { ...BODY, url: `${URL}?${token}` })
    const list = JSON.stringify((await server.call('GET', '/v1/webhooks?limit=200')).body)
    const log = JSON.stringify(server.logged)
    const audit = JSON.stringify(await everyItem(server, '/v1/audit'))
    const deliveries = JSON.stringify(await everyItem(server, `/v1/webhooks/${id}/deliveries`))
    for (const text of [list, log, audit, deliveries, JSON.stringify((await read(id)).body)]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(next)
      expect(text).not.toContain('whsec_')
    }
    // The URL is for who may read webhooks.
    expect(list).toContain(token)
    for (const text of [log, audit, deliveries]) expect(text).not.toContain(token)
    await remove(id)
  })

  it('is kept over a restart with the rest', async () => {
    const first = await runServer()
    const { secret: _, ...webhook } = await succeed(first.call('POST', '/v1/webhooks', { body: BODY }))
    const second = await first.restart()
    try {
      expect((await second.call('GET', `/v1/webhooks/${webhook.id}`)).body).toEqual(webhook)
    } finally {
      await second.stop()
    }
  })
})

describe('a key', () => {
  it('with webhooks:read alone reads and changes nothing', async () => {
    const { id } = await made()
    const { key } = await makeKey(server, ['webhooks:read'])
    expect((await read(id, key)).status).toBe(200)
    await expectRefused(() => create(BODY, key), { status: 403, body: { code: 'insufficient_scope' } })
    await remove(id)
  })

  it('with webhooks:write alone cannot read them, and gets what it makes', async () => {
    const { key, id: maker } = await makeKey(server, ['webhooks:write'])
    const webhook = await succeed(create(BODY, key))
    expect(webhook).toMatchObject({ secret: expect.stringMatching(SECRET), created_by: maker })
    expect((await read(webhook.id, key)).status).toBe(403)
    await remove(webhook.id)
  })
})

describe('503 while the store cannot write what the feed needs', () => {
  it('is told, and the same call again sends one test', async () => {
    let isAway = true
    const fails = () => Promise.reject(new StoreUnavailableError('The disk is full.'))
    const openStore = (dataDir: string) =>
      openStoreWith(dataDir, (store) => ({
        deliveries: {
          add: (delivery) => (isAway ? fails() : store.deliveries.add(delivery)),
          update: (deliveries) => (isAway ? fails() : store.deliveries.update(deliveries)),
        },
        readers: {
          hold: (name, ...rest) => (isAway && name.startsWith('replay/') ? fails() : store.readers.hold(name, ...rest)),
        },
      }))
    const away = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore } })
    try {
      const { id } = await succeed(away.call('POST', '/v1/webhooks', { body: BODY }))
      const path = `/v1/webhooks/${id}`
      const once = { headers: { 'Idempotency-Key': 'while-away' } }
      const replay = { ...once, body: { since: '2026-11-01T00:00:00.000Z' } }
      const test = () => away.call('POST', `${path}/test`, once)
      const deliveries = () => everyItem(away, `${path}/deliveries`)
      const unavailable = { status: 503, body: { code: 'store_unavailable' } }
      expect(await test()).toMatchObject(unavailable)
      expect(await test()).toMatchObject(unavailable)
      expect(await away.call('POST', `${path}/replay`, replay)).toMatchObject(unavailable)
      expect(await deliveries()).toEqual([])
      isAway = false
      const [first, second] = [await succeed(test()), await succeed(test())]
      expect(second.id).toBe(first.id)
      expect((await deliveries()).map((delivery) => delivery.id)).toEqual([first.id])
      expect((await away.call('POST', `${path}/replay`, replay)).status).toBe(202)
      isAway = true
      const retry = () => away.call('POST', `${path}/deliveries/${first.id}/retry`, once)
      expect(await retry()).toMatchObject(unavailable)
      isAway = false
      expect(await retry()).toMatchObject({ status: 202, body: { id: first.id, status: 'pending' } })
    } finally {
      isAway = false
      await away.stop()
    }
  })
})

it.each(['test', 'deliveries/dlv_01kagx3v5ne8sr6w1y6gqk4t2h/retry'])(
  'refuses a body with members for %s, and needs none',
  async (verb) => {
    const { id } = await made()
    const ask = (body?: object) => server.call('POST', `/v1/webhooks/${id}/${verb}`, { body })
    expect(await ask({ foo: 1 })).toMatchObject({ status: 400, body: { errors: [{ pointer: '/foo' }] } })
    expect((await ask()).status).toBe(verb === 'test' ? 202 : 404)
  },
)

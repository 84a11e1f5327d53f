import { AUDIT_RECORD_KINDS, LIMITS } from '@countersign/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FROZEN, type RunningServer, runServer } from '../running-server.js'
import {
  ALLOWED,
  allowing,
  createPolicy,
  DENIED,
  decide,
  everyItem,
  makeKey,
  REFUNDS,
  REVIEWED,
  succeed,
} from './refunds.js'

const HOUR_MS = 3_600_000

let server: RunningServer
let revised: string
let spent: string
let held: string
let delivered: string
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  const policy = await createPolicy(server, REFUNDS)
  revised = `/v1/policies/${policy.id}/revisions`
  const budget = { limit: 1, unit: 'calls', period: 'hourly', amount: 1 }
  spent = `/v1/policies/${(await createPolicy(server, { ...allowing('spend.hourly'), budget })).id}/budget/history`
  const ofAgents = { limit: 9, unit: 'calls', period: 'total', scope: 'agent', amount: 1 }
  held = `/v1/policies/${(await createPolicy(server, { ...allowing('spend.each'), budget: ofAgents })).id}/budget`
  delivered = `/v1/webhooks/${(await makeWebhook()).id}/deliveries`
  for (let i = 0; i < 6; i++) {
    await makeWebhook()
    await succeed(server.call('POST', delivered.replace('deliveries', 'test')))
    await succeed(server.call('POST', '/v1/agents', { body: { id: `agent:each-${i}` } }))
    await decide(server, { agent_id: `agent:each-${i}`, action: 'spend.each' })
    await succeed(
      server.call('PUT', `/v1/policies/${policy.id}`, { body: { ...REFUNDS, description: `revision ${i}` } }),
    )
    await createPolicy(server, allowing('list.test'))
    await makeKey(server, ['decisions:read'])
    await decide(server, { ...ALLOWED, agent_id: `agent:support-${i}` })
    await createPolicy(server, { ...allowing('spend.never'), budget })
    await decide(server, { agent_id: 'agent:spender', action: 'spend.hourly' })
    server.clock.advance(HOUR_MS)
  }
  // Reading budgets settles what the clock has ended; else the sweeper would write about it between two pages.
  await succeed(server.call('GET', '/v1/budgets'))
})
afterAll(() => server.stop())

/** Its host is never found, and it asks for what does not happen here: the feed sends nothing but tests. */
const makeWebhook = () =>
  succeed(
    server.call('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.invalid/hook', events: ['webhook.disabled'] },
    }),
  )

const lists = () => [
  '/v1/decisions',
  '/v1/policies',
  '/v1/agents',
  '/v1/keys',
  '/v1/audit',
  '/v1/budgets',
  '/v1/webhooks',
  delivered,
  revised,
  spent,
  held,
]
/** Records are in an order of each kind. */
const RECORDS = '/v1/audit/records'
/** Within the revisions of a policy all have its id; an account has none. */
const nameOf =
  (list: string) =>
  (item: {
    id: string
    revision?: number
    policy_id?: string
    starts_at?: string | null
    agent_id?: string | null
  }) => {
    if (list === revised) return String(item.revision)
    const isOfAccounts = list === '/v1/budgets' || list === spent || list === held
    return isOfAccounts ? `${item.policy_id} ${item.starts_at} ${item.agent_id}` : item.id
  }
const keyFor = (agents: readonly string[]) => ({ name: 'bound', scopes: ['decisions:read'], agents })
const later = (ms: number) => new Date(FROZEN.getTime() + ms).toISOString()

it('covers every list of the table', () => {
  const routes = server.started.composed.routes.filter(({ query }) => query !== undefined && 'cursor' in query.shape)
  const listed = [RECORDS, ...lists()].map((list) => list.replace(/(pol|whk)_[a-z0-9]+/, '{id}'))
  expect(routes.map(({ path }) => path).sort()).toEqual(listed.sort())
})

describe('a list', () => {
  it('is the same in pages of any size, newest first, nothing twice and nothing left out', async () => {
    for (const list of lists()) {
      const whole = await everyItem(server, list)
      expect(whole.length, list).toBeGreaterThanOrEqual(6)
      for (const limit of [1, 2, 3, whole.length - 1, whole.length, 200]) {
        const paged = []
        let cursor: string | null = null
        let pages = 0
        do {
          const page = await succeed(
            server.call('GET', `${list}?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`),
          )
          expect(page.data.length).toBeLessThanOrEqual(limit)
          expect(page.data.length).toBeGreaterThan(0)
          paged.push(...page.data)
          cursor = page.next_cursor
          pages++
        } while (cursor !== null)
        expect(paged.map(nameOf(list)), `${list} by ${limit}`).toEqual(whole.map(nameOf(list)))
        expect(pages).toBe(Math.ceil(whole.length / limit))
      }
    }
  })

  it.each(AUDIT_RECORD_KINDS)('of records of the kind %s is the same in pages of any size', async (kind) => {
    const whole = await everyItem(server, `${RECORDS}?kind=${kind}`)
    expect(whole.length).toBeGreaterThanOrEqual(6)
    for (const limit of [1, 4, whole.length]) {
      const paged = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = `kind=${kind}&limit=${limit}${cursor && `&cursor=${cursor}`}`
        const page = await succeed(server.call('GET', `${RECORDS}?${query}`))
        expect(page.data.length).toBeLessThanOrEqual(limit)
        paged.push(...page.data)
        cursor = page.next_cursor
      }
      expect(paged).toEqual(whole)
    }
  })

  it('is newest first', async () => {
    const times: Readonly<Record<string, (item: never) => string>> = {
      '/v1/decisions': ({ evaluated_at, id }: { evaluated_at: string; id: string }) => evaluated_at + id,
      '/v1/policies': ({ id }: { id: string }) => id,
      '/v1/keys': ({ id }: { id: string }) => id,
      '/v1/audit': ({ at, id }: { at: string; id: string }) => at + id,
      '/v1/webhooks': ({ id }: { id: string }) => id,
      [delivered]: ({ created_at, id }: { created_at: string; id: string }) => created_at + id,
      [revised]: ({ revision }: { revision: number }) => String(revision).padStart(5),
      '/v1/agents': ({ first_seen }: { first_seen: string }) => first_seen,
      '/v1/budgets': ({ policy_id }: { policy_id: string }) => policy_id,
      [spent]: ({ starts_at }: { starts_at: string }) => starts_at,
      [held]: ({ agent_id }: { agent_id: string }) => agent_id,
    }
    for (const list of lists()) {
      const keys = (await everyItem(server, list)).map((item) => (times[list] as (item: unknown) => string)(item))
      expect(keys, list).toEqual([...keys].sort().reverse())
    }
  })

  it('has 50 on a page unless asked', async () => {
    const many = await runServer({ settings: { rateLimitPerSecond: 0 } })
    try {
      await Promise.all(Array.from({ length: 51 }, (_, i) => decide(many, { agent_id: `agent:${i}`, action: 'a.b' })))
      const page = await succeed(many.call('GET', '/v1/decisions'))
      expect(page.data).toHaveLength(50)
      const rest = await succeed(many.call('GET', `/v1/decisions?cursor=${page.next_cursor}`))
      expect(rest.data).toHaveLength(1)
      expect(rest.next_cursor).toBeNull()
    } finally {
      await many.stop()
    }
  })

  it('fills a page by bytes as well, and an item that is larger is a page of its own', async () => {
    const large = await runServer({ settings: { rateLimitPerSecond: 0 } })
    try {
      const context = { text: 'x'.repeat(65_000) }
      for (let i = 0; i < 20; i++) await decide(large, { agent_id: `agent:${i}`, action: 'a.b', context })
      const agents = Array.from({ length: 1000 }, (_, i) => `agent:${i}-${'x'.repeat(230)}`)
      for (let i = 0; i < 5; i++) await succeed(large.call('POST', '/v1/keys', { body: keyFor(agents) }))
      for (const list of ['/v1/decisions', '/v1/keys']) {
        const whole = await everyItem(large, list)
        const pages = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page = await succeed(large.call('GET', `${list}?limit=200${cursor && `&cursor=${cursor}`}`))
          expect(JSON.stringify(page).length, list).toBeLessThan(LIMITS.pageBytes + 50_000)
          pages.push(page.data)
          cursor = page.next_cursor
        }
        expect(pages.length, list).toBe(2)
        expect(pages.flat(), list).toEqual(whole)
      }
    } finally {
      await large.stop()
    }
  })

  it('stands still for a reader while others write', async () => {
    for (const list of lists()) {
      const whole = (await everyItem(server, list)).map(nameOf(list))
      const first = await succeed(server.call('GET', `${list}?limit=3`))
      await decide(server, { ...ALLOWED, agent_id: `agent:support-new-${list.length}` })
      const made = await createPolicy(server, allowing('write.test'))
      await succeed(server.call('PUT', `/v1/policies/${revised.split('/')[3]}`, { body: REFUNDS }))
      await makeKey(server, ['decisions:read'])
      await makeWebhook()
      await succeed(server.call('POST', delivered.replace('deliveries', 'test')))
      await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
      const paged = await readOn(list, first.next_cursor)
      expect([...first.data.map(nameOf(list)), ...paged.map(nameOf(list))], list).toEqual(whole)
    }
  })

  it('goes on after the item that a cursor names is gone', async () => {
    const made = await createPolicy(server, allowing('gone.test'))
    const first = await succeed(server.call('GET', '/v1/policies?limit=1'))
    expect(first.data[0].id).toBe(made.id)
    await succeed(server.call('DELETE', `/v1/policies/${made.id}`))
    const next = await succeed(server.call('GET', `/v1/policies?limit=1&cursor=${first.next_cursor}`))
    expect(next.data[0].id).toBe((await everyItem(server, '/v1/policies'))[0].id)
  })
})

async function readOn(list: string, cursor: string | null) {
  const items = []
  for (let next = cursor; next !== null; ) {
    const page = await succeed(server.call('GET', `${list}?limit=2&cursor=${next}`))
    items.push(...page.data)
    next = page.next_cursor
  }
  return items
}

describe('400', () => {
  it.each(['0', '201', '-1', '1.5', '1e2', '', ' 5', '0x10', '1000', 'all', '%2B5', '٣'])(
    'refuses the limit %j',
    async (limit) => {
      for (const list of lists())
        expect(await server.call('GET', `${list}?limit=${limit}`), list).toMatchObject({
          status: 400,
          body: {
            code: 'validation_failed',
            errors: [{ pointer: '/limit', detail: 'must be a whole number from 1 to 200' }],
          },
        })
    },
  )

  it('refuses a parameter given twice', async () => {
    for (const list of lists())
      expect(await server.call('GET', `${list}?limit=1&limit=1`)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/limit', detail: 'is repeated' }] },
      })
    expect(await server.call('GET', '/v1/decisions?agent_id=a&agent_id=a&odd=1&agent_id[]=b')).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/agent_id' }, { pointer: '/odd' }, { pointer: '/agent_id[]' }] },
    })
  })

  it.each(['', 'x', 'x.y', '.', '..', 'AAAA.AAAAAAAAAAAAAAAAAAAAAA', '%00', 'a.b.c', '💥'])(
    'refuses the cursor %j',
    async (cursor) => {
      for (const list of lists())
        expect(await server.call('GET', `${list}?cursor=${cursor}`), list).toMatchObject({
          status: 400,
          body: { code: 'invalid_cursor' },
        })
    },
  )

  it('refuses an endless cursor', async () => {
    for (const list of lists())
      expect(await server.call('GET', `${list}?cursor=${'x'.repeat(2000)}`), list).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
  })

  it('refuses a good cursor that is spelled another way', async () => {
    const { next_cursor: good } = await succeed(server.call('GET', '/v1/policies?limit=1'))
    for (const odd of [`%20${good}`, `${good}%20`, good.replace('.', '=.'), good.replace('.', '%0A.')])
      expect(await server.call('GET', `/v1/policies?limit=1&cursor=${odd}`), odd).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
  })

  it('refuses a cursor of another list, another filter, another key, and one that was changed', async () => {
    const cursorOf = async (path: string, key = server.key): Promise<string> =>
      (await succeed(server.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1`, { key }))).next_cursor
    const refused = async (path: string, key = server.key) =>
      expect(await server.call('GET', path, { key }), path).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })

    const cursors = new Map<string, string>()
    for (const list of lists()) cursors.set(list, await cursorOf(list))
    for (const [from, cursor] of cursors)
      for (const to of lists().filter((list) => list !== from)) await refused(`${to}?cursor=${cursor}`)

    const filtered = await cursorOf('/v1/decisions?effect=allow')
    await refused(`/v1/decisions?cursor=${filtered}`)
    await refused(`/v1/decisions?effect=deny&cursor=${filtered}`)
    await refused(`/v1/decisions?effect=allow&action=payment.refund&cursor=${filtered}`)
    expect((await server.call('GET', `/v1/decisions?cursor=${filtered}&effect=allow`)).status).toBe(200)
    expect((await server.call('GET', `/v1/decisions?cursor=${filtered}&effect=allow&limit=7`)).status).toBe(200)

    const { key } = await makeKey(server, ['decisions:read'])
    await refused(`/v1/decisions?cursor=${cursors.get('/v1/decisions')}`, key)

    const other = await createPolicy(server, allowing('other.revisions'))
    await succeed(server.call('PUT', `/v1/policies/${other.id}`, { body: allowing('other.revisions') }))
    await refused(`/v1/policies/${other.id}/revisions?cursor=${cursors.get(revised)}`)

    const cursor = cursors.get('/v1/audit') as string
    await refused(`/v1/audit?cursor=${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`)
    await refused(`/v1/audit?cursor=A${cursor}`)
    await refused(`/v1/audit?cursor=${cursor}%20`)
  })

  it('takes a cursor again after a restart', async () => {
    const first = await runServer()
    await makeKey(first, ['keys:read'])
    const page = await succeed(first.call('GET', '/v1/keys?limit=1'))
    const second = await first.restart()
    try {
      expect((await succeed(second.call('GET', `/v1/keys?limit=1&cursor=${page.next_cursor}`))).data).toHaveLength(1)
    } finally {
      await second.stop()
    }
  })
})

describe('the filters of decisions', () => {
  let filtered: RunningServer
  // biome-ignore lint/suspicious/noExplicitAny: as they were answered
  let allowed: any, reviewed: any, denied: any, other: any
  beforeAll(async () => {
    filtered = await runServer({ settings: { rateLimitPerSecond: 0 } })
    await createPolicy(filtered, REFUNDS)
    allowed = await decide(filtered, ALLOWED)
    filtered.clock.advance(1000)
    reviewed = await decide(filtered, REVIEWED)
    filtered.clock.advance(1000)
    denied = await decide(filtered, DENIED)
    filtered.clock.advance(1000)
    other = await decide(filtered, { agent_id: 'agent:other', action: 'mail.send', resource: 'mail:a+b/ü' })
  })
  afterAll(() => filtered.stop())

  const found = async (query: string) =>
    (await succeed(filtered.call('GET', `/v1/decisions?${query}`))).data.map(({ id }: { id: string }) => id)

  it('find by each field and by all of them', async () => {
    expect(await found('')).toEqual([other.id, denied.id, reviewed.id, allowed.id])
    expect(await found('agent_id=agent:other')).toEqual([other.id])
    expect(await found('action=payment.refund')).toEqual([denied.id, reviewed.id, allowed.id])
    expect(await found('resource=order:8812')).toEqual([denied.id, reviewed.id, allowed.id])
    expect(await found(`resource=${encodeURIComponent('mail:a+b/ü')}`)).toEqual([other.id])
    expect(await found('effect=deny')).toEqual([other.id, denied.id])
    expect(await found('effect=log')).toEqual([])
    expect(await found('policy_id=pol_default')).toEqual([other.id])
    expect(await found(`policy_id=${allowed.policy_id}`)).toEqual([denied.id, reviewed.id, allowed.id])
    const { request_hash } = await succeed(filtered.call('GET', `/v1/decisions/${denied.id}`))
    expect(await found(`request_hash=${request_hash}`)).toEqual([denied.id])
    expect(
      await found(
        `agent_id=agent:support-7&effect=deny&status=denied&action=payment.refund&request_hash=${request_hash}`,
      ),
    ).toEqual([denied.id])
    expect(await found('agent_id=agent:other&effect=allow')).toEqual([])
  })

  it('take agents, actions and resources exactly, not as patterns', async () => {
    expect(await found('agent_id=agent:support-')).toEqual([])
    expect(await found('action=payment')).toEqual([])
    for (const query of ['agent_id=agent:*', 'action=payment.*', 'agent_id=%25', 'action=a%25'])
      expect((await filtered.call('GET', `/v1/decisions?${query}`)).status, query).toBe(400)
    expect(await found('resource=order:*')).toEqual([])
    expect(await found('resource=order:%25')).toEqual([])
    expect(await found('resource=order:____')).toEqual([])
  })

  it('bound evaluated_at from, inclusive, and to, exclusive', async () => {
    expect(await found(`from=${later(1000)}`)).toEqual([other.id, denied.id, reviewed.id])
    expect(await found(`from=${later(1001)}`)).toEqual([other.id, denied.id])
    expect(await found(`to=${later(1000)}`)).toEqual([allowed.id])
    expect(await found(`to=${later(1001)}`)).toEqual([reviewed.id, allowed.id])
    expect(await found(`from=${later(1000)}&to=${later(3000)}`)).toEqual([denied.id, reviewed.id])
    expect(await found(`from=${later(1000)}&to=${later(1000)}`)).toEqual([])
    expect(await found(`from=${later(5000)}&to=${later(0)}`)).toEqual([])
  })

  it('find by status as it is now, at the very moment of expires_at', async () => {
    expect(await found('status=authorized')).toEqual([allowed.id])
    expect(await found('status=denied')).toEqual([other.id, denied.id])
    expect(await found('status=awaiting_review')).toEqual([reviewed.id])
    expect(await found('status=expired')).toEqual([])
    for (const status of ['approved', 'declined', 'confirmed', 'rejected'])
      expect(await found(`status=${status}`)).toEqual([])
    filtered.clock.advance(Date.parse(allowed.expires_at) - filtered.clock.now().getTime() - 1)
    expect(await found('status=authorized')).toEqual([allowed.id])
    filtered.clock.advance(1)
    expect(await found('status=authorized')).toEqual([])
    expect(await found('status=expired')).toEqual([allowed.id])
    filtered.clock.advance(Date.parse(reviewed.expires_at) - filtered.clock.now().getTime() - 1)
    expect(await found('status=awaiting_review')).toEqual([reviewed.id])
    filtered.clock.advance(1)
    expect(await found('status=awaiting_review')).toEqual([])
    expect(await found('status=expired')).toEqual([reviewed.id, allowed.id])
    expect(await found('status=denied')).toEqual([other.id, denied.id])
    expect(await found('status=expired&effect=review')).toEqual([reviewed.id])
  })

  it('refuse what cannot be', async () => {
    const wrong = [
      'effect=maybe',
      'status=open',
      'status=',
      'from=yesterday',
      'from=2026-11-21',
      'to=2026-11-21T10:00:00',
      'from=2026-02-30T00:00:00.000Z',
      'request_hash=short',
      'agent_id=',
      'agent_id=%20',
      'action=a%20b',
      'resource=none',
      `policy_id=${'x'.repeat(129)}`,
    ]
    for (const query of wrong)
      expect(await filtered.call('GET', `/v1/decisions?${query}`), query).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ pointer: `/${query.split('=')[0]}` }] },
      })
  })

  it('and the binding of the key hold together', async () => {
    const { key } = await makeKey(filtered, ['decisions:read'], { agents: ['agent:oth*'] })
    const mine = async (query: string) =>
      (await succeed(filtered.call('GET', `/v1/decisions?${query}`, { key }))).data.map(({ id }: { id: string }) => id)
    expect(await mine('')).toEqual([other.id])
    expect(await mine('effect=deny')).toEqual([other.id])
    expect(await mine('agent_id=agent:support-7')).toEqual([])
    expect(await mine('limit=1')).toEqual([other.id])
  })
})

describe('the filters of the audit log', () => {
  const found = async (query: string) =>
    (await everyItem(server, `/v1/audit?${query}`)) as { type: string; agent_id: string; subject: string; at: string }[]

  it('find by type, agent, decision and time', async () => {
    const all = await everyItem(server, '/v1/audit')
    for (const type of ['decision.created', 'policy.created', 'policy.updated', 'key.created', 'signing_key.created']) {
      const some = await found(`type=${type}`)
      expect(some.length, type).toBeGreaterThan(0)
      expect(some).toEqual(all.filter((entry) => entry.type === type))
    }
    expect(await found('type=webhook.deleted')).toEqual([])
    expect(await found('agent_id=agent:support-3')).toEqual(
      all.filter(({ agent_id }) => agent_id === 'agent:support-3'),
    )
    const [decision] = await everyItem(server, '/v1/decisions?agent_id=agent:support-3')
    expect(await found(`decision_id=${decision.id}`)).toEqual(all.filter(({ subject }) => subject === decision.id))
    expect(await found(`from=${later(2)}&to=${later(4)}`)).toEqual(
      all.filter(({ at }) => at >= later(2) && at < later(4)),
    )
    expect(await found(`type=key.created&agent_id=agent:support-3`)).toEqual([])
  })

  it('take the id of a decision and of nothing else', async () => {
    const [key] = await everyItem(server, '/v1/keys')
    for (const id of [key.id, 'x', 'pol_01kagx3v5ne8sr6w1y6gqk4t2h', ''])
      expect(await server.call('GET', `/v1/audit?decision_id=${id}`), id).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/decision_id' }] },
      })
    expect(await found('decision_id=dec_01kagx3v5ne8sr6w1y6gqk4t2h')).toEqual([])
  })

  it('refuse what cannot be', async () => {
    for (const query of ['type=decision', 'type=', 'agent_id=%24ne', 'from=1', 'to=now'])
      expect((await server.call('GET', `/v1/audit?${query}`)).status, query).toBe(400)
  })

  it('show one log without a gap', async () => {
    const all = await everyItem(server, '/v1/audit')
    expect(new Set(all.map(({ log }) => log)).size).toBe(1)
    expect(all.map(({ index }) => index)).toEqual(all.map((_, i) => all.length - 1 - i))
  })
})

/**
 * Whatever a caller puts into paths, methods, headers, queries and bodies: the handler acts on what the decision point has
 * permitted, or does not run, and the caller has an answer. Over real sockets, against the server as it is shipped.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Countersign } from '@countersign/client'
import { guard, permitErrors } from '@countersign/express'
import express, { type Request, type RequestHandler } from 'express'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DecisionPoint, startDecisionPoint } from './decision-point.js'

const AGENT = 'agent:injected-1'

/** What a handler acted on, and the question whose decision it ran on. */
interface Run {
  readonly id: unknown
  readonly amount: unknown
  readonly asked: unknown
}

let point: DecisionPoint
let client: Countersign
let server: Server
let runs: Run[] = []

beforeAll(async () => {
  point = await startDecisionPoint()
  await point.admin.policies.create({
    name: 'the public vault',
    rules: [
      {
        action: 'vault.pay',
        resource: 'vault:public',
        effect: 'allow',
        conditions: { 'context.amount': { $gte: 0, $lte: 100 } },
      },
    ],
  })
  const { key } = await point.admin.keys.create({ name: 'api', scopes: ['decisions:write'], agents: ['agent:*'] })
  client = new Countersign({ baseUrl: point.url, apiKey: key })
  server = createServer({ keepAliveTimeout: 60_000 }, app()).listen(0, '127.0.0.1')
  await once(server, 'listening')
}, 60_000)
beforeEach(() => {
  runs = []
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  client.close()
  point.admin.close()
  await point.stop()
})

/** As apps are, with some of the middleware that makes requests say other things than they said. */
function app() {
  const permitted = new WeakMap<Request, unknown>()
  const asks = (resource: (req: Request) => string): RequestHandler => {
    const guarded = guard({
      client,
      agent_id: AGENT,
      action: 'vault.pay',
      resource,
      context: (req) => ({ amount: req.body.amount }),
    })
    // Before anything rewrites the request, which then shows no permit any more.
    return (req, res, next) =>
      guarded(req, res, (error?: unknown) => {
        permitted.set(req, req.permit?.asked)
        next(error)
      })
  }
  const pay =
    (idOf: (req: Request) => unknown): RequestHandler =>
    (req, res) => {
      runs.push({ id: idOf(req), amount: req.body.amount, asked: permitted.get(req) })
      res.json({ paid: true })
    }
  const byParam = asks((req) => `vault:${req.params.id}`)
  const payParam = pay((req) => req.params.id)
  const byQuery = asks((req) => `vault:${req.query.id}`)
  const rewrite: RequestHandler = (req, _res, next) => {
    const url = req.get('x-rewrite-url')
    if (url !== undefined) req.url = url
    next()
  }
  const overrideMethod: RequestHandler = (req, _res, next) => {
    req.method = req.get('x-http-method-override') ?? req.method
    next()
  }
  const inner = express.Router({ mergeParams: true }).all('/:id', byParam, payParam)
  return express()
    .set('env', 'test')
    .set('query parser', 'extended')
    .use(overrideMethod, express.json({ strict: false }), express.urlencoded({ extended: true }))
    .all('/vault/:id', byParam, rewrite, payParam)
    .all('/early/:id', rewrite, byParam, payParam)
    .get('/read/:id', byParam, payParam)
    .all(
      '/query',
      byQuery,
      pay((req) => req.query.id),
    )
    .use('/shops/:id/vault', inner)
    .all('/passed/:id', byParam)
    .all('/passed/:id', rewrite, payParam)
    .use(permitErrors())
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly type?: string
}

/** Sends exactly this; resolves with the statuses of what comes back until the connection ends. */
async function send(target: string, { method = 'POST', headers = {}, body = '', type }: Sent = {}): Promise<number[]> {
  const lines = Object.entries({
    host: 'app',
    connection: 'close',
    'content-type': type ?? 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return sendRaw(
    Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`), Buffer.from(body)]),
  )
}

async function sendRaw(bytes: Buffer | string): Promise<number[]> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(bytes)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
}

/** What ran was permitted, to the letter. */
function expectOnlyPermitted(): void {
  for (const { id, amount, asked } of runs) {
    expect(id).toBe('public')
    expect(typeof amount === 'number' && amount >= 0 && amount <= 100).toBe(true)
    const question = { agent_id: AGENT, action: 'vault.pay', resource: 'vault:public', context: { amount } }
    expect(asked).toEqual(JSON.parse(JSON.stringify(question)))
  }
}

const ONE = '{"amount":1}'

it('what is permitted runs, so that the rest of this file says something', async () => {
  for (const path of [
    '/vault/public',
    '/early/public',
    '/query?id=public',
    '/shops/s/vault/public',
    '/passed/public',
  ]) {
    expect(await send(path, { body: ONE }), path).toEqual([200])
  }
  expect(await send('/read/public', { method: 'GET', body: ONE })).toEqual([200])
  expect(runs).toHaveLength(6)
  expectOnlyPermitted()
})

describe('a path', () => {
  it.each([
    '/vault/secret',
    '//vault/secret',
    '/vault//secret',
    '/vault/./secret',
    '/vault/public/../secret',
    '/vault/public%2F..%2Fsecret',
    '/vault/public%2f%2e%2e%2fsecret',
    '/vault/public%5C..%5Csecret',
    '/VAULT/secret',
    '/vault/SECRET',
    '/vault/secret/',
    '/vault/%73ecret',
    '/vault/%2573ecret',
    '/vault/secret%00',
    '/vault/public%00secret',
    '/vault/secret%20',
    '/vault/public;secret',
    '/vault/public,secret',
    '/vault/Public',
    '/vault/p%C5%ABblic',
    '/vault/public%E2%80%8B',
    '/vault/%C0%AE%C0%AE',
    '/vault/*',
    '/vault/%2A',
    '/vault/undefined',
    '/vault/__proto__',
    '/vault/constructor',
    'http://other.example/vault/secret',
    'http://other.example//vault/secret',
    '/shops/public/vault/secret',
    '/early/secret',
    '/passed/secret',
    '/read/secret',
  ])('lets nothing else run: %s', async (path) => {
    const statuses = await send(path, { body: ONE })
    expect(statuses).toHaveLength(1)
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(runs).toEqual([])
  })

  it.each([
    '/vault/public?id=secret',
    '/vault/public/',
    '/VAULT/public',
    '/vault/publi%63',
    'http://other.example/vault/public',
    '/shops/secret/vault/public',
    '/vault/public#/../secret',
  ])('that means what is permitted runs as that: %s', async (path) => {
    expect(await send(path, { body: ONE })).toEqual([200])
    expect(runs).toHaveLength(1)
    expectOnlyPermitted()
  })

  it.each([
    ['after the guard, changes nothing', '/vault/public', '/vault/secret', 1],
    ['after a guard in a route of its own, changes nothing', '/passed/public', '/passed/secret', 1],
    ['before the guard, but in its route, is too late for both', '/early/public', '/early/secret', 1],
    ['to what is permitted, does not help what is not', '/vault/secret', '/vault/public', 0],
    ['to what is permitted, before the guard, does not either', '/early/secret', '/early/public', 0],
  ])('that is rewritten %s', async (_what, path, url, count) => {
    expect(await send(path, { body: ONE, headers: { 'x-rewrite-url': url } })).toEqual([count === 1 ? 200 : 403])
    expect(runs).toHaveLength(count)
    expectOnlyPermitted()
  })
})

describe('a method', () => {
  it.each([
    ['/vault/secret', 'GET'],
    ['/vault/secret', 'HEAD'],
    ['/vault/secret', 'OPTIONS'],
    ['/vault/secret', 'PUT'],
    ['/vault/secret', 'DELETE'],
    ['/vault/secret', 'PATCH'],
    ['/vault/secret', 'TRACE'],
    ['/vault/secret', 'PROPFIND'],
    ['/vault/secret', 'QUERY'],
    ['/vault/secret', 'post'],
    ['/read/secret', 'HEAD'],
    ['/read/public', 'POST'],
  ])('lets nothing else run: %s %s', async (path, method) => {
    const statuses = await send(path, { method, body: ONE })
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(runs).toEqual([])
  })

  it('HEAD runs what GET may, and as that', async () => {
    expect(await send('/read/public', { method: 'HEAD', body: ONE })).toEqual([200])
    expect(runs).toHaveLength(1)
    expectOnlyPermitted()
  })

  it.each(['HEAD', 'get', 'OPTIONS', '', 'constructor', '__proto__', 'all'])(
    'overridden as %j runs nothing',
    async (as) => {
      for (const path of ['/vault/secret', '/read/secret', '/passed/secret']) {
        await send(path, { body: ONE, headers: { 'x-http-method-override': as } })
      }
      expect(runs).toEqual([])
    },
  )

  it('overridden as a preflight of CORS runs nothing, permitted or not', async () => {
    const headers = {
      'x-http-method-override': 'OPTIONS',
      origin: 'https://shop.example',
      'access-control-request-method': 'POST',
    }
    expect(await send('/vault/public', { body: ONE, headers })).toEqual([204])
    expect(await send('/passed/public', { body: ONE, headers })).toEqual([204])
    expect(runs).toEqual([])
  })
})

describe('a query', () => {
  it.each([
    'id=secret',
    'id=public&id=secret',
    'id=secret&id=public',
    'id[]=public&id[]=secret',
    'id[0]=secret',
    'id[toString]=public',
    'id[length]=1&id[0]=public',
    '__proto__[id]=public',
    'constructor[prototype][id]=public',
    'id=public%00',
    'id=public%26id=secret',
    'id.=public',
    '',
  ])('lets nothing else run: %s', async (query) => {
    const statuses = await send(`/query?${query}`, { body: ONE })
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(runs).toEqual([])
  })
})

describe('a body', () => {
  it.each<[string, string | Buffer, string?]>([
    ['too much', '{"amount":100.01}'],
    ['more than any number', '{"amount":1e400}'],
    ['less than nothing', '{"amount":-1}'],
    ['less than any number', '{"amount":-1e400}'],
    ['a text', '{"amount":"1"}'],
    ['a list', '{"amount":[1]}'],
    ['an operator', '{"amount":{"$lte":1}}'],
    ['true', '{"amount":true}'],
    ['null', '{"amount":null}'],
    ['nothing', '{}'],
    ['the last of two', '{"amount":1,"amount":1000}'],
    ['a prototype', '{"__proto__":{"amount":1}}'],
    ['a prototype of prototypes', '{"constructor":{"prototype":{"amount":1}}}'],
    ['an amount with a prototype', '{"amount":{"__proto__":{"valueOf":1}}}'],
    ['null for a body', 'null'],
    ['a list for a body', '[{"amount":1}]'],
    ['a text for a body', '"amount"'],
    ['a number for a body', '1'],
    ['no body', ''],
    ['half a body', '{"amount":1'],
    ['two bodies', '{"amount":1}{"amount":1000}'],
    ['a form', 'amount=1', 'application/x-www-form-urlencoded'],
    ['a form with a list', 'amount=1&amount=1000', 'application/x-www-form-urlencoded'],
    ['a form with a prototype', '__proto__[amount]=1', 'application/x-www-form-urlencoded'],
    ['JSON that is called text', ONE, 'text/plain'],
    ['JSON that is called nothing', ONE, 'nonsense'],
    ['another alphabet', Buffer.from(ONE, 'utf16le'), 'application/json'],
    ['nesting', `{"amount":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
    ['nesting elsewhere', `{"amount":1,"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('lets nothing else run: %s', async (_what, body, type) => {
    const statuses = await send('/vault/public', { body, ...(type && { type }) })
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(runs).toEqual([])
  })

  it.each<[string, string | Buffer, Record<string, string>?]>([
    ['the last of two', '{"amount":1000,"amount":1}'],
    ['a prototype beside it', '{"amount":1,"__proto__":{"amount":1000}}'],
    ['the other zero', '{"amount":-0}'],
    ['the smallest of numbers', '{"amount":1e-400}'],
    ['more digits than a number has', '{"amount":100.00000000000000000001}'],
    ['another alphabet, by name', Buffer.from(ONE, 'utf16le'), { 'content-type': 'application/json; charset=utf-16' }],
    ['fewer bytes', gzipSync(ONE), { 'content-encoding': 'gzip' }],
    ['a wait before it', ONE, { expect: '100-continue' }],
  ])('that means what is permitted runs as that: %s', async (_what, body, headers = {}) => {
    expect((await send('/vault/public', { body, headers })).at(-1)).toBe(200)
    expect(runs).toHaveLength(1)
    expectOnlyPermitted()
  })
})

describe('a connection', () => {
  const head = (path: string, ...more: string[]) => [`POST ${path} HTTP/1.1`, 'host: app', ...more].join('\r\n')

  it('with a permitted request before and after another lets only those run', async () => {
    const json = ['content-type: application/json', `content-length: ${ONE.length}`]
    const one = (path: string, ...more: string[]) => `${head(path, ...json, ...more)}\r\n\r\n${ONE}`
    const all = one('/vault/public') + one('/vault/secret') + one('/vault/public', 'connection: close')
    expect(await sendRaw(all)).toEqual([200, 403, 200])
    expect(runs).toHaveLength(2)
    expectOnlyPermitted()
  })

  it('smuggles no second body, nor another request', async () => {
    const chunked = ['content-type: application/json', 'connection: close', 'transfer-encoding: chunked']
    const pieces = '7\r\n{"amoun\r\n5\r\nt":1}\r\n0\r\n'
    expect(
      await sendRaw(`${head('/vault/public', ...chunked, 'trailer: x')}\r\n\r\n${pieces}amount: 1000\r\n\r\n`),
    ).toEqual([200])
    const both = [...chunked, 'content-length: 4']
    expect(await sendRaw(`${head('/vault/public', ...both)}\r\n\r\n${pieces}\r\n`)).toEqual([400])
    const smuggled = `${head('/vault/secret', 'content-type: application/json', `content-length: ${ONE.length}`)}\r\n\r\n${ONE}`
    const outer = head(
      '/vault/public',
      'content-type: application/json',
      'connection: close',
      `content-length: ${ONE.length}`,
    )
    await sendRaw(`${outer}\r\n\r\n${ONE}${smuggled}`)
    expectOnlyPermitted()
  })
})

describe('a request for another protocol', () => {
  it.each<[string, Record<string, string>]>([
    ['WebSocket', { connection: 'Upgrade, close', upgrade: 'websocket', 'sec-websocket-key': 'x' }],
    ['HTTP/2', { connection: 'Upgrade, HTTP2-Settings, close', upgrade: 'h2c', 'http2-settings': '' }],
    ['one that expects what nobody gives', { expect: 'a-miracle' }],
  ])('passes no guard: %s', async (_what, headers) => {
    const statuses = await send('/vault/secret', {
      body: ONE,
      headers: { ...headers, connection: headers.connection ?? 'close' },
    })
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(runs).toEqual([])
  })

  it('passes no guard: a tunnel, HTTP/1.0, and lines that are no HTTP', async () => {
    const body = `content-type: application/json\r\ncontent-length: ${ONE.length}\r\n\r\n${ONE}`
    expect(await sendRaw(`POST /vault/secret HTTP/1.0\r\n${body}`)).toEqual([403])
    for (const start of [
      'CONNECT /vault/secret HTTP/1.1',
      'POST /vault/secret HTTP/2.0',
      'POST /vault/secret',
      'POST /vault/secret HTTP/1.1 HTTP/1.1',
      ' POST /vault/secret HTTP/1.1',
      'POST\t/vault/secret HTTP/1.1',
      'POST /vault/public HTTP/1.1\r\nhost: app\r\n/vault/secret: x y\r\n z: 1',
      'POST /vault/public HTTP/1.1\r\ncontent-length: 1',
    ]) {
      await sendRaw(`${start}\r\nhost: app\r\nconnection: close\r\n${body}`)
    }
    expectOnlyPermitted()
  })
})

describe('an Idempotency-Key', () => {
  it('of what was permitted lets nothing else run, and not the same once more', async () => {
    const headers = { 'idempotency-key': 'k1' }
    expect(await send('/vault/public', { body: ONE, headers })).toEqual([200])
    expect(await send('/vault/public', { body: ONE, headers })).toEqual([403])
    expect(await send('/vault/secret', { body: ONE, headers })).toEqual([422])
    expect(await send('/vault/public', { body: '{"amount":2}', headers })).toEqual([422])
    expect(await send('/vault/public?x=1', { body: '{"amount":1,"to":"me"}', headers })).toEqual([403])
    expect(runs).toHaveLength(1)
    expectOnlyPermitted()
  })

  it.each(['a, b', '"', '\t', '%00', 'x'.repeat(8_000)])('of any shape lets nothing else run: %j', async (key) => {
    await send('/vault/secret', { body: ONE, headers: { 'idempotency-key': key } })
    expect(runs).toEqual([])
  })
})

/** Who reaches what through the proxy for Streamable HTTP, and what is refused. */
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startHttpProxy } from '../src/proxy/http/http-proxy.js'
import { httpSettings } from '../src/proxy/http/http-settings.js'
import { CLIENT_V2, callMessage, openSession, post, proxyOf, serve, serveSessions, serveStateless } from './http-rig.js'
import { decisionOf, useRig, withTools } from './rig.js'
import { SDKS, type Sdk } from './sdks.js'

const rig = useRig()

const [v1, v2] = SDKS as [Sdk, Sdk]
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const sha256 = (token: string): string => createHash('sha256').update(token).digest('hex')
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const clients = [
  { agent_id: 'agent:anna', token_sha256: sha256('token-of-anna') },
  { agent_id: 'agent:bert', token_sha256: sha256('token-of-bert') },
]

describe('clients with tokens', () => {
  const start = async () => {
    const runs: string[] = []
    const upstream = await serveSessions(v1, () => withTools(v1.mcpServer(), runs))
    return {
      runs,
      upstream,
      ...(await proxyOf(rig(), upstream.url, {
        config: { clients },
        gate: { client: rig().newClient({ agentId: undefined }) },
      })),
    }
  }

  it('are the agents that they are named', async () => {
    const { url } = await start()
    for (const name of ['anna', 'bert']) {
      const { client } = await CLIENT_V2.connect(url, { headers: bearer(`token-of-${name}`) })
      const { id } = decisionOf(await client.callTool({ name: 'allow', arguments: { n: 1 } })) as { id: string }
      expect((await rig().operator.decision(id)).agent_id).toBe(`agent:${name}`)
    }
  })

  it.each([
    ['no token', {}, 'Bearer realm="countersign-mcp"'],
    ['a token of nobody', bearer('token-of-carl'), 'Bearer realm="countersign-mcp", error="invalid_token"'],
    ['the hash of a token', bearer(sha256('token-of-anna')), 'Bearer realm="countersign-mcp", error="invalid_token"'],
    [
      'another scheme',
      { authorization: 'Basic token-of-anna' },
      'Bearer realm="countersign-mcp", error="invalid_token"',
    ],
    ['two tokens', bearer('token-of-anna, token-of-bert'), 'Bearer realm="countersign-mcp", error="invalid_token"'],
  ])('are none with %s', async (_name, headers, challenge) => {
    const { url, upstream } = await start()
    for (const method of ['GET', 'DELETE', 'POST']) {
      const response = await fetch(url, { method, headers: headers as Record<string, string> })
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
    }
    expect(upstream.seen).toEqual([])
  })

  it('cannot use a session of somebody else, nor one that nobody has opened here', async () => {
    const { url, upstream, runs } = await start()
    const id = await openSession(url, bearer('token-of-anna'))
    const unknown = await openSession(upstream.url)
    const before = upstream.seen.length
    for (const [token, session] of [
      ['token-of-bert', id],
      ['token-of-anna', unknown],
    ] as const) {
      const headers = { ...bearer(token), 'mcp-session-id': session }
      expect((await post(url, callMessage(1), headers)).status).toBe(404)
      expect((await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })).status).toBe(404)
      expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(404)
    }
    expect([upstream.seen.length, runs]).toEqual([before, []])
    expect((await post(url, callMessage(1), { ...bearer('token-of-anna'), 'mcp-session-id': id })).status).toBe(200)
    expect(runs).toEqual(['allow 1'])
  })

  it('keep their tokens from the server', async () => {
    const { url, upstream } = await start()
    await openSession(url, {
      ...bearer('token-of-anna'),
      cookie: 'a=b',
      'x-http-method-override': 'DELETE',
      origin: url.origin,
    })
    expect(JSON.stringify(upstream.seen)).not.toContain('token-of-anna')
    expect(Object.keys(upstream.seen[0]!.headers).sort()).toEqual([
      'accept',
      'accept-encoding',
      'accept-language',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
    expect(upstream.seen[0]!.headers.host).toBe(upstream.url.host)
  })
})

describe('the server', () => {
  it('gets the credentials of the operator, and those of clients only where that was asked for', async () => {
    const upstream = await serve((_request, response) => response.writeHead(202).end())
    const message = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const own = await proxyOf(rig(), upstream.url, { upstreamHeaders: { authorization: 'Bearer of-the-operator' } })
    await post(own.url, message, bearer('of-the-client'))
    const forwarding = await proxyOf(rig(), upstream.url, { forwardAuthorization: true })
    await post(forwarding.url, message, bearer('of-the-client'))
    expect(upstream.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer of-the-operator',
      'Bearer of-the-client',
    ])
    await expect(proxyOf(rig(), upstream.url, { forwardAuthorization: true, config: { clients } })).rejects.toThrow(
      TypeError,
    )
  })

  it('asks clients for credentials, and leads them nowhere else', async () => {
    const challenge = 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"'
    const upstream = await serve((_request, response) => {
      response.writeHead(401, {
        'www-authenticate': challenge,
        'set-cookie': 'a=b',
        location: 'http://127.0.0.1:9/',
        link: '<x>',
      })
      response.end('who are you?')
    })
    const { url, log } = await proxyOf(rig(), upstream.url)
    const response = await post(url, callMessage(1))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
    await post(url, ping)
    expect(log).toEqual([expect.stringMatching(/HTTP 401.*--upstream-header-env/)])
    expect([...response.headers.keys()].sort()).toEqual([
      'connection',
      'content-length',
      'content-security-policy',
      'content-type',
      'date',
      'keep-alive',
      'www-authenticate',
      'x-content-type-options',
    ])
    expect(await rig().statuses()).toEqual(['rejected'])
  })

  it.each([301, 302, 303, 307, 308])('does not lead a client past the proxy by HTTP %i', async (status) => {
    const elsewhere = await serve((_request, response) => response.end('{}'))
    const upstream = await serve((_request, response) =>
      response.writeHead(status, { location: `${elsewhere.url}` }).end(),
    )
    const { url, log } = await proxyOf(rig(), upstream.url)
    const response = await post(url, callMessage(1))
    expect([response.status, response.headers.get('location')]).toEqual([502, null])
    expect(elsewhere.seen).toEqual([])
    expect(log).toEqual([expect.stringContaining('redirect')])
    // A redirect does not say that nothing was done.
    expect(await rig().statuses()).toEqual(['authorized'])
  })
})

describe('a request', () => {
  const start = async () => {
    const upstream = await serveStateless(() => withTools(v2.mcpServer(), []))
    return { upstream, ...(await proxyOf(rig(), upstream.url)) }
  }

  it.each([
    ['another type', 'text/plain', 415],
    ['no type', '', 415],
    ['a type that holds the right one', 'text/plain; a=application/json', 415],
    ['another charset', 'application/json; charset=utf-16le', 415],
    ['parameters', 'application/json; charset="UTF-8"', 200],
    ['capitals', 'Application/JSON', 200],
  ])('with %s', async (_name, type, status) => {
    const { url } = await start()
    expect((await post(url, ping, { 'content-type': type })).status).toBe(status)
  })

  it.each([
    ['no JSON', '{"jsonrpc"', -32700],
    ['nothing', '', -32700],
    ['an empty batch', '[]', -32600],
    ['a batch of batches', `[[${JSON.stringify(ping)}]]`, -32600],
    ['too large a batch', JSON.stringify(Array.from({ length: 101 }, () => ping)), -32600],
  ])('that is %s', async (_name, body, code) => {
    const { url, upstream } = await start()
    const response = await post(url, body)
    expect([response.status, await response.json()]).toMatchObject([400, { id: null, error: { code } }])
    expect(upstream.seen).toEqual([])
  })

  it('in bytes that are no text is refused', async () => {
    const { url } = await start()
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ])
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(response.status).toBe(400)
  })

  it('that is too large is refused, whether it says so or not', async () => {
    const { url, upstream } = await start()
    const [most, more] = [0, 1].map((beyond) => {
      const message = JSON.stringify({ ...ping, params: { pad: '' } })
      return message.replace('""', JSON.stringify('x'.repeat(4 * 1024 * 1024 - message.length + beyond)))
    }) as [string, string]
    expect((await post(url, most)).status).toBe(200)
    expect((await post(url, more)).status).toBe(413)
    const status = await new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } })
      sent.on('response', ({ statusCode }) => resolve(statusCode))
      sent.on('error', reject)
      sent.write(more)
    })
    expect(status).toBe(413)
    expect(upstream.seen.length).toBe(1)
  })

  it('reaches one path alone, by three methods', async () => {
    const { url, upstream } = await start()
    for (const path of [
      '/',
      '/server',
      '/mcp/',
      '/mcp/x',
      '/%6dcp',
      '//mcp',
      '/.well-known/oauth-authorization-server',
    ])
      expect((await post(new URL(`${url.origin}${path}`), ping)).status).toBe(404)
    expect((await fetch(url, { method: 'PUT' })).headers.get('allow')).toBe('GET, POST, DELETE')
    expect(upstream.seen).toEqual([])
    await post(new URL('/mcp?path=/other', url), ping)
    expect(upstream.seen.map((seen) => seen.url)).toEqual(['/server'])
  })

  it.each([
    ['another host', { host: 'rebound.example:4000' }, 403],
    ['a host that ends like ours', { host: '127.0.0.1.rebound.example' }, 403],
    ['no host that can be read', { host: 'a b' }, 403],
    ['a page of another site', { host: 'localhost', origin: 'https://rebound.example' }, 403],
    ['a page of no site', { host: 'localhost', origin: 'null' }, 403],
    ['a name of loopback', { host: 'localhost:4000' }, 200],
    ['an address of loopback', { host: '[::1]:4000' }, 200],
    ['a page of this machine', { host: '127.0.0.1', origin: 'http://localhost:6274' }, 200],
  ])('for %s', async (_name, headers, status) => {
    const { url } = await start()
    const answered = await new Promise((resolve, reject) => {
      const sent = request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      })
      sent.on('response', (response) => resolve(response.statusCode))
      sent.on('error', reject)
      sent.end(JSON.stringify(ping))
    })
    expect(answered).toBe(status)
  })

  it.each([
    ['Mcp-Method', { 'mcp-method': 'tools/list' }],
    ['Mcp-Name', { 'mcp-method': 'tools/call', 'mcp-name': 'deny' }],
    ['Mcp-Name in Base64', { 'mcp-name': `=?base64?${Buffer.from('deny').toString('base64')}?=` }],
  ])('whose %s says something else than its body is refused', async (_name, headers) => {
    const { url, upstream } = await start()
    const response = await post(url, callMessage(1), headers)
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32020 } }])
    expect(upstream.seen).toEqual([])
  })

  it('whose headers repeat it passes', async () => {
    const { url, upstream } = await start()
    const name = `=?base64?${Buffer.from('allow').toString('base64')}?=`
    await post(url, callMessage(1), { 'mcp-method': 'tools/call', 'mcp-name': name })
    expect(upstream.seen[0]!.headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': name })
  })
})

describe('a proxy that is told wrong', () => {
  const options = (host: string, upstream = 'http://127.0.0.1:9/mcp') => ({
    listen: { host, port: 0 },
    upstream: new URL(upstream),
    config: {},
    gate: rig().options(),
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  })

  it.each(['0.0.0.0', '::', '192.168.1.5', 'example.com', '127.0.0.1.example.com'])(
    'does not listen on %s for clients that nobody knows',
    async (host) => {
      await expect(startHttpProxy(options(host))).rejects.toThrow(/"clients".*or listen on 127.0.0.1/)
    },
  )

  it('has no password on its command line', async () => {
    await expect(startHttpProxy(options('127.0.0.1', 'http://user:secret@127.0.0.1:9/'))).rejects.toThrow(
      /may not contain a password/,
    )
    const env = { AUTH: 'Bearer x', EMPTY: '', COUNTERSIGN_API_KEY: 'csk_x', BROKEN: 'a\nb' }
    const flags = { listen: '4000', upstream: 'http://127.0.0.1:9/' }
    expect(httpSettings({ ...flags, upstreamHeaderEnv: ['Authorization=AUTH'] }, env)).toMatchObject({
      listen: { host: '127.0.0.1', port: 4000 },
      upstreamHeaders: { authorization: 'Bearer x' },
    })
    for (const flag of [
      'Authorization=EMPTY',
      'Authorization=NONE',
      'X=COUNTERSIGN_API_KEY',
      'X=BROKEN',
      'AUTH',
      'X Y=AUTH',
    ])
      expect(() => httpSettings({ ...flags, upstreamHeaderEnv: [flag] }, env)).toThrow(TypeError)
  })

  it.each([
    ['[::1]:80', { host: '::1', port: 80 }],
    ['localhost:4000', { host: 'localhost', port: 4000 }],
    [':4000', undefined],
    ['::1:4000', undefined],
    ['127.0.0.1:65536', undefined],
    ['127.0.0.1', undefined],
  ])('reads the address %s', (listen, expected) => {
    const settings = () => httpSettings({ listen, upstream: 'http://127.0.0.1:9/' }, {})
    if (expected === undefined) expect(settings).toThrow(/address and a port/)
    else expect(settings()).toMatchObject({ listen: expected })
  })
})

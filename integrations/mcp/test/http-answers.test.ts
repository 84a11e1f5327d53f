/** What becomes of calls whose answers come late, twice, elsewhere or never. The numbers are those of the acceptance cases. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { describe, expect, it } from 'vitest'
import {
  CLIENT_V1,
  CLIENT_V2,
  callMessage,
  JSON_HEADERS,
  MODERN_CLIENT,
  messagesOf,
  openSession,
  post,
  proxyOf,
  serve,
  serveSessions,
  serveStateless,
} from './http-rig.js'
import { decisionOf, say, textOf, useRig, withTools } from './rig.js'
import { SDKS, type Sdk, type ToolWork } from './sdks.js'

const point = useDecisionPoint()
const rig = useRig()

const [v1, v2] = SDKS as [Sdk, Sdk]
const until = (holds: () => unknown) => expect.poll(holds, { interval: 5, timeout: 10_000 }).toBeTruthy()

/** Work that begins, and ends when it is told to. */
function heldWork() {
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let begun = 0
  const signals: AbortSignal[] = []
  const work: ToolWork = async ({ n }, context) => {
    begun += 1
    signals.push(context.signal ?? context.mcpReq.signal)
    await ended
    return say(`did ${n}`)
  }
  return { work, end: () => end(), begun: () => begun, signals }
}

/** The proxy has read what its sockets held before: that a client has left, too. */
async function seenBy(url: URL): Promise<void> {
  for (let times = 0; times < 5; times += 1) await (await fetch(url, { method: 'PUT' })).text()
}

/** What a handler of raw HTTP does with the one call that it gets. */
type Answering = (response: ServerResponse, request: IncomingMessage, id: unknown) => void

/** A server that answers calls in its own way. */
function serveRaw(answering: Answering) {
  return serve(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
    answering(response, request, id)
  })
}

const resultText = (id: unknown, text = 'did it') => JSON.stringify({ jsonrpc: '2.0', id, result: say(text) })
const event = (data: string, id?: string) => `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
const stream = { 'content-type': 'text/event-stream' }

describe('a call', () => {
  const answers: readonly [name: string, status: string, answering: Answering][] = [
    ['that the server refuses', 'rejected', (response) => response.writeHead(400).end()],
    ['that the server has no session for', 'rejected', (response) => response.writeHead(404).end('not found')],
    ['that the server is too busy for', 'authorized', (response) => response.writeHead(429).end()],
    ['that a gateway has no answer to', 'authorized', (response) => response.writeHead(504).end()],
    ['that the server fails at, without a word', 'authorized', (response) => response.writeHead(500).end()],
    ['whose connection breaks', 'authorized', (response) => response.destroy()],
    [
      'whose stream breaks',
      'authorized',
      (response) => {
        response.writeHead(200, stream)
        response.write(': hello\n\n', () => response.destroy())
      },
    ],
    ['whose stream ends', 'authorized', (response) => response.writeHead(200, stream).end()],
    [
      'whose result is cut',
      'authorized',
      (response, _request, id) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' })
        response.write(resultText(id), () => response.destroy())
      },
    ],
    [
      'whose event is not ended',
      'authorized',
      (response, _request, id) => response.writeHead(200, stream).end(`data: ${resultText(id)}`),
    ],
    ['that is accepted and no more', 'authorized', (response) => response.writeHead(202).end()],
    [
      'whose answer is no JSON',
      'authorized',
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'),
    ],
    [
      'whose answer is compressed',
      'authorized',
      (response) => response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' }).end('x'),
    ],
    [
      'that is answered by another id',
      'authorized',
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(resultText('another')),
    ],
    [
      'that ends by an error of the server',
      'rejected',
      (response, _request, id) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no such order' } })),
    ],
    [
      'that succeeds by JSON',
      'confirmed',
      (response, _request, id) =>
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(resultText(id)),
    ],
    [
      'that succeeds by an event',
      'confirmed',
      (response, _request, id) => response.writeHead(200, stream).end(event(resultText(id))),
    ],
  ]

  it.each(answers)('%s is %s', async (_name, status, answering) => {
    const upstream = await serveRaw(answering)
    const { url } = await proxyOf(rig(), upstream.url)
    const response = await post(url, callMessage(1))
    const text = await response.text()
    const messages = /^[{[]/.test(text) ? [JSON.parse(text)].flat() : messagesOf(text)
    const message = messages.at(-1)
    if (status === 'confirmed') expect(message).toMatchObject({ id: 1, result: { content: [{ text: 'did it' }] } })
    else if (response.status === 200) expect(message).toMatchObject({ id: 1, error: { code: expect.any(Number) } })
    expect(await rig().statuses()).toEqual([status])
  })

  it('to a server that is not there did not run', async () => {
    const upstream = await serve(() => undefined)
    await upstream.stop()
    const { url, log } = await proxyOf(rig(), upstream.url)
    const response = await post(url, callMessage(1))
    expect([response.status, await response.json()]).toMatchObject([200, { id: 1, error: { code: -32603 } }])
    expect(await rig().statuses()).toEqual(['rejected'])
    const notified = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(notified.status).toBe(502)
    expect((await fetch(url, { headers: { accept: 'text/event-stream' } })).status).toBe(502)
    expect(log).toEqual(['The upstream cannot be reached: ECONNREFUSED'])
  })

  it.each([v1, v2])('runs on when its client has left, and is settled by how it ends: $name', async (sdk) => {
    const { work, end, begun } = heldWork()
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), [], work))
    const { url } = await proxyOf(rig(), upstream.url)
    const session = await openSession(url)
    const leaving = new AbortController()
    const headers = { ...JSON_HEADERS, 'mcp-session-id': session }
    const body = JSON.stringify(callMessage(1))
    const left = fetch(url, { method: 'POST', headers, body, signal: leaving.signal }).then((response) =>
      response.text(),
    )
    await until(begun)
    leaving.abort()
    await expect(left).rejects.toThrow()
    await seenBy(url)
    end()
    const [id] = rig().decisionIds()
    await until(async () => (await rig().operator.decision(id!)).status === 'confirmed')
  })

  it('does not run when its client has left before it was decided', async () => {
    const runs: string[] = []
    const upstream = await serveSessions(v1, () => withTools(v1.mcpServer(), runs))
    const leaving = new AbortController()
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    // A decision point that takes its time.
    const slow = await serve(async (request, response) => {
      asked += 1
      const body = (await request.toArray()).join('')
      await released
      const headers = { authorization: request.headers.authorization!, 'content-type': 'application/json' }
      const answer = await fetch(`${point().url}${request.url}`, { method: request.method!, headers, body })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    const client = rig().newClient({ baseUrl: slow.url.origin })
    const { url, close } = await proxyOf(rig(), upstream.url, { gate: { client } })
    const headers = { ...JSON_HEADERS, 'mcp-session-id': await openSession(url) }
    const body = JSON.stringify(callMessage(1))
    const left = fetch(url, { method: 'POST', headers, body, signal: leaving.signal })
    await until(() => asked > 0)
    leaving.abort()
    await expect(left).rejects.toThrow()
    await seenBy(url)
    release()
    await close()
    expect(runs).toEqual([])
  })

  it('43: is cancelled by leaving since 2026-07-28', async () => {
    const { work, end, begun, signals } = heldWork()
    const upstream = await serveStateless(() => withTools(v2.mcpServer(), [], work))
    const { url } = await proxyOf(rig(), upstream.url)
    const { client } = await MODERN_CLIENT.connect(url)
    const leaving = new AbortController()
    const left = client.callTool({ name: 'allow', arguments: { n: 1 } }, { signal: leaving.signal })
    await until(begun)
    leaving.abort()
    await expect(left).rejects.toThrow()
    await until(() => signals[0]!.aborted)
    end()
    expect(await rig().statuses()).toEqual(['authorized'])
  })
})

describe('45: a batch', () => {
  const batch = [
    callMessage('a'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    callMessage('d', 'deny'),
    { jsonrpc: '2.0', id: 'p', method: 'ping' },
    callMessage(undefined),
    callMessage('a', 'allow', { n: 2 }),
    { jsonrpc: '2.0', id: null, method: 'tools/call', params: { name: 'allow', arguments: { n: 3 } } },
  ]

  it.each([v1, v2].flatMap((sdk) => [false, true].map((json) => ({ name: sdk.name, sdk, json }))))(
    'is gated message by message: $name, JSON $json',
    async ({ sdk, json }) => {
      const runs: string[] = []
      const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), runs), { json })
      const { url } = await proxyOf(rig(), upstream.url)
      const headers = { 'mcp-session-id': await openSession(url), 'mcp-protocol-version': '2025-03-26' }
      const response = await post(url, batch, headers)
      const messages = json ? ((await response.json()) as Record<string, unknown>[]) : messagesOf(await response.text())
      expect(runs).toEqual(['allow 1'])
      const of = (id: unknown) => messages.filter((message) => message.id === id)
      expect(of('d')).toEqual([expect.objectContaining({ result: expect.objectContaining({ isError: true }) })])
      expect(of('p')).toEqual([expect.objectContaining({ result: {} })])
      expect(of('a').length).toBe(2)
      expect(of('a')).toContainEqual(expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) }))
      expect(of(null)).toEqual([expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) })])
      expect(messages.length).toBe(5)
      expect((await rig().statuses()).sort()).toEqual(['confirmed', 'denied'])
    },
  )

  it('of which nothing may run is answered without the server', async () => {
    const upstream = await serveRaw((response) => response.end())
    const { url } = await proxyOf(rig(), upstream.url)
    const response = await post(url, [callMessage(1, 'deny'), callMessage(2, 'deny')])
    const ids = ((await response.json()) as { id: unknown }[]).map(({ id }) => id)
    expect([response.status, ids.sort(), upstream.seen]).toEqual([200, [1, 2], []])
    expect((await post(url, [callMessage(undefined)])).status).toBe(202)
  })
})

describe('57: a stream', () => {
  it.each(
    [v1, v2].flatMap((sdk) =>
      [CLIENT_V1, CLIENT_V2].map((client) => ({ name: `${sdk.name}, ${client.name}`, sdk, client })),
    ),
  )(
    'that breaks is taken up, and the call is settled by what it brings then: $name',
    async ({ sdk, client: { major, connect } }) => {
      const { work, end, begun } = heldWork()
      const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), [], work), { resumable: true })
      const { url } = await proxyOf(rig(), upstream.url)
      const { client } = await connect(url)
      let token: string | undefined
      const onresumptiontoken = (given: string): void => {
        token = given
      }
      const params = { name: 'allow', arguments: { n: 1 } }
      const called =
        major === 1
          ? client.callTool(params, undefined, { onresumptiontoken })
          : client.callTool(params, { onresumptiontoken })
      await until(() => begun() && token)
      upstream.cut()
      await until(() => upstream.seen.some(({ headers }) => headers['last-event-id'] !== undefined))
      end()
      const result = await called
      expect([textOf(result), decisionOf(result)]).toEqual(['did 1', expect.objectContaining({ effect: 'allow' })])
      expect(await rig().statuses()).toEqual(['confirmed'])
    },
  )

  it.each([v1, v2])('is taken up by a client that has left, wherever the server is: $name', async (sdk) => {
    const { work, end, begun } = heldWork()
    const upstream = await serveSessions(sdk, () => withTools(sdk.mcpServer(), [], work), { resumable: true })
    const { url } = await proxyOf(rig(), upstream.url)
    const headers = { ...JSON_HEADERS, 'mcp-session-id': await openSession(url), 'mcp-protocol-version': '2025-11-25' }
    const leaving = new AbortController()
    const body = JSON.stringify(callMessage(7))
    const response = await fetch(url, { method: 'POST', headers, body, signal: leaving.signal })
    const { value } = await response.body!.getReader().read()
    const lastEventId = /^id: (.+)$/m.exec(new TextDecoder().decode(value))![1]!
    await until(begun)
    leaving.abort()
    const takenUp = await fetch(url, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
    })
    expect(takenUp.status).toBe(200)
    end()
    const reader = takenUp.body!.getReader()
    let text = ''
    await until(async () => {
      text += new TextDecoder().decode((await reader.read()).value)
      return text.includes('did 1')
    })
    await reader.cancel()
    expect(messagesOf(text)).toEqual([
      expect.objectContaining({ id: 7, result: expect.objectContaining(say('did 1')) }),
    ])
    expect(await rig().statuses()).toEqual(['confirmed'])
    // Once more: what was settled before passes as it is.
    const again = await fetch(url, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
    })
    const rereader = again.body!.getReader()
    expect(new TextDecoder().decode((await rereader.read()).value)).toContain('did 1')
    await rereader.cancel()
  })

  it.each([
    { sdk: v1, restarts: false },
    { sdk: v2, restarts: true },
  ])(
    'that is taken up once more settles no later call of the same id: $sdk.name, restarted: $restarts',
    async ({ sdk, restarts }) => {
      const { work, end, begun } = heldWork()
      const works: ToolWork[] = [() => ({ ...say('card declined'), isError: true }), work]
      const make = () => withTools(sdk.mcpServer(), [], (args, context) => works.shift()!(args, context))
      const upstream = await serveSessions(sdk, make, { resumable: true })
      const first = await proxyOf(rig(), upstream.url)
      const session = { 'mcp-session-id': await openSession(first.url), 'mcp-protocol-version': '2025-11-25' }
      const failed = await (await post(first.url, callMessage(7), session)).text()
      const { url } = restarts ? await proxyOf(rig(), upstream.url) : first
      const running = post(url, callMessage(7), session)
      await until(begun)
      const again = await fetch(url, {
        headers: { ...session, accept: 'text/event-stream', 'last-event-id': /^id: (.+)$/m.exec(failed)![1]! },
      })
      const reader = again.body!.getReader()
      expect(new TextDecoder().decode((await reader.read()).value)).toContain('card declined')
      await reader.cancel()
      end()
      expect(messagesOf(await (await running).text())).toMatchObject([{ id: 7, result: say('did 1') }])
      expect(await rig().statuses()).toEqual(['rejected', 'confirmed'])
    },
  )

  it('passes what keeps it alive and says how to come back, and nothing that leads elsewhere', async () => {
    const upstream = await serveRaw((response, _request, id) => {
      response.writeHead(200, stream)
      response.write(
        '\uFEFFid: 1\nretry: 50\ndata:\n\n: keepalive\r\n\r\nevent: endpoint\ndata: http://127.0.0.1:9/elsewhere\n\n',
      )
      response.write(`event: other\ndata: ${resultText(id, 'other')}\n\ndata: no JSON\n\n`)
      response.end(
        `id: 2\ndata: {"jsonrpc":"2.0","method":"notifications/message",\ndata: "params":{"text":"\u00e9"}}\n\n${event(resultText(id), '3')}`,
      )
    })
    const { url } = await proxyOf(rig(), upstream.url)
    const text = await (await post(url, callMessage(1))).text()
    expect(text).toContain(
      'retry: 50\n\nid: 1\ndata: \n\n: keepalive\n\nevent: message\nid: 2\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"text":"\u00e9"}}\n\nevent: message\nid: 3\ndata: {',
    )
    expect(text).not.toContain('other')
    expect(text).not.toContain('elsewhere')
    expect(await rig().statuses()).toEqual(['confirmed'])
  })
})

describe('the end of the proxy', () => {
  it('waits for calls that run, and answers them', async () => {
    const { work, end, begun } = heldWork()
    const upstream = await serveSessions(v2, () => withTools(v2.mcpServer(), [], work))
    const { url, close } = await proxyOf(rig(), upstream.url)
    const { client } = await CLIENT_V1.connect(url)
    const called = client.callTool({ name: 'allow', arguments: { n: 1 } })
    await until(begun)
    const closed = close()
    await expect(fetch(url, { method: 'DELETE' })).rejects.toThrow()
    end()
    expect(textOf(await called)).toBe('did 1')
    await closed
    expect(await rig().statuses()).toEqual(['confirmed'])
  })
})

it('41: a hundred calls at once run as often as the budget has room', async () => {
  const action = `http.${crypto.randomUUID().slice(0, 8)}`
  const budget = { limit: 30, unit: 'calls', period: 'total', amount: 1 }
  const { id } = await rig().operator.makePolicy(action, 'allow', budget)
  const runs: string[] = []
  const upstream = await serveSessions(v2, () => withTools(v2.mcpServer(), runs))
  const { url } = await proxyOf(rig(), upstream.url, { gate: { map: { allow: { action } } } })
  const { client } = await CLIENT_V2.connect(url)
  const calls = Array.from({ length: 100 }, (_, n) => client.callTool({ name: 'allow', arguments: { n } }))
  const results = await Promise.all(calls)
  await rig().client.flush()
  expect(results.filter(({ isError }) => isError !== true).length).toBe(30)
  expect([runs.length, new Set(runs).size]).toEqual([30, 30])
  expect(await rig().operator.account(id)).toMatchObject({ spent: 30, reserved: 0 })
})

it('events for a client that reads slowly are all passed, and no listener is kept', async () => {
  const text = 'x'.repeat(100_000)
  const upstream = await serveRaw((response, _request, id) => {
    response.writeHead(200, stream)
    const note = (n: number) => JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { n, text } })
    for (let n = 0; n < 100; n += 1) response.write(event(note(n)))
    response.end(event(resultText(id)))
  })
  const { url } = await proxyOf(rig(), upstream.url)
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  const messages = messagesOf(await (await post(url, callMessage(1))).text())
  process.off('warning', warned)
  expect([messages.length, messages.at(-1)!.id, warnings]).toEqual([101, 1, []])
})

describe('46, 53: calls of one session', () => {
  it('are told apart by their ids, over all its requests', async () => {
    const { work, end, begun } = heldWork()
    const upstream = await serveSessions(v1, () => withTools(v1.mcpServer(), [], work))
    const { url } = await proxyOf(rig(), upstream.url)
    const [one, other] = [await openSession(url), await openSession(url)]
    const first = post(url, callMessage(1), { 'mcp-session-id': one })
    await until(begun)
    const second = await post(url, callMessage(1), { 'mcp-session-id': one })
    expect(await second.json()).toMatchObject({ id: 1, error: { code: -32600 } })
    const elsewhere = post(url, callMessage(1), { 'mcp-session-id': other })
    await until(() => begun() === 2)
    const ping = await post(url, { jsonrpc: '2.0', id: 2, method: 'ping' }, { 'mcp-session-id': one })
    expect(messagesOf(await ping.text())).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }])
    end()
    for (const response of [await first, await elsewhere]) expect(await response.text()).toContain('did 1')
    expect(await rig().statuses()).toEqual(['confirmed', 'confirmed'])
  })

  it('are cancelled by another request', async () => {
    const { work, end, begun, signals } = heldWork()
    const upstream = await serveSessions(v2, () => withTools(v2.mcpServer(), [], work))
    const { url } = await proxyOf(rig(), upstream.url)
    const { client } = await CLIENT_V2.connect(url)
    const cancelling = new AbortController()
    const called = client.callTool({ name: 'allow', arguments: { n: 1 } }, { signal: cancelling.signal })
    await until(begun)
    cancelling.abort()
    await expect(called).rejects.toThrow()
    await until(() => signals[0]!.aborted)
    end()
    // No server answers what was cancelled.
    await upstream.stop()
  })
})

describe('a refusal of the upstream that is no message', () => {
  const refusing = async (status: number, headers: Record<string, string>, body: string) => {
    const upstream = await serveRaw((response) => response.writeHead(status, headers).end(body))
    const { url } = await proxyOf(rig(), upstream.url)
    return url
  }

  it.each([
    [429, 'application/json', '{"error":"slow down","wait":1.0}'],
    [403, 'text/html; charset=utf-8', '<script>alert(1)</script>'],
    [500, 'application/problem+json', '{"title":"broken"}'],
    [404, 'text/plain', 'no such thing'],
  ])('%i of %s reaches the client as it is, and runs on no page of the proxy', async (status, type, body) => {
    const url = await refusing(status, { 'content-type': type, 'retry-after': '7' }, body)
    for (const response of [await post(url, callMessage(1)), await fetch(url, { headers: { accept: '*/*' } })]) {
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        status,
        type,
        body,
      ])
      expect(response.headers.get('retry-after')).toBe('7')
      expect(response.headers.get('content-security-policy')).toContain('sandbox')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it('becomes an error of its request where it is too long, compressed, a stream or a message for nobody', async () => {
    const bodies: readonly (readonly [Record<string, string>, string])[] = [
      [{ 'content-type': 'text/html' }, 'x'.repeat(1024 * 1024 + 1)],
      [{ 'content-type': 'text/html', 'content-encoding': 'br' }, 'x'],
      [stream, event('{"error":"x"}')],
      [{ 'content-type': 'application/json' }, resultText('another')],
    ]
    for (const [headers, body] of bodies) {
      const response = await post(await refusing(403, headers, body), callMessage(1))
      expect([response.status, await response.json()]).toMatchObject([403, { id: 1, error: { code: -32_603 } }])
    }
  })
})

it.each([
  ['another id', resultText('another')],
  ['no id', '{"jsonrpc":"2.0","error":{"code":-32000,"message":"x"}}'],
])('an answer of %s reaches the client as an error of its own request, and as no list', async (_what, text) => {
  const json = { 'content-type': 'application/json' }
  const upstream = await serveRaw((response) => response.writeHead(200, json).end(text))
  const { url } = await proxyOf(rig(), upstream.url)
  const answer = await (await post(url, callMessage(1))).json()
  expect(answer).toMatchObject({ id: 1, error: { code: expect.any(Number) } })
  const listed = await (await post(url, [callMessage(2)])).json()
  expect(listed).toMatchObject([{ id: 2, error: { code: expect.any(Number) } }])
  expect(listed).toHaveLength(1)
})

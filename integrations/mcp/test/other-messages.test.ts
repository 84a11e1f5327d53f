/** A gate of messages, for what is no tool: batches, subscriptions of 2026-07-28, requests of the server, what lists show. */
import { describe, expect, it } from 'vitest'
import { type GateOptions, toolGate } from '../src/gate-options.js'
import { parseJson, textOfJson } from '../src/json/exact-json.js'
import { MessageGate } from '../src/messages/message-gate.js'
import { openSession, post, proxyOf, serve } from './http-rig.js'
import { useRig } from './rig.js'

const rig = useRig()

interface Told {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

function connection(change: Partial<GateOptions> = {}) {
  const [toServer, toClient, dropped]: [Told[], Told[], string[]] = [[], [], []]
  const tell = (message: object): void => void toClient.push(message as Told)
  const gate = new MessageGate<string, string>(toolGate('gateTransport', rig().options(change)), {
    toServer: (message) => void toServer.push(message as Told),
    toClient: tell,
    answer: tell,
    answerServer: (message) => void toServer.push(message as Told),
    dropped: (via) => void dropped.push(via),
  })
  return {
    gate,
    toServer,
    toClient,
    dropped,
    send: (message: unknown, via = 'client') => gate.fromClient(message, via),
  }
}

const jsonrpc = '2.0'
const request = (id: unknown, method: string, params: object = {}) => ({ jsonrpc, id, method, params })
const until = (holds: () => boolean) => expect.poll(holds, { interval: 1, timeout: 5_000 }).toBe(true)
const asked = () => rig().events.flatMap((event) => (event.type === 'decision' ? [event.asked?.resource] : []))

it('asks about each message of a batch', async () => {
  const { gate, send, toServer, toClient, dropped } = connection({ resources: { 'hr://teams/*': 't.allow' } })
  send([
    request(1, 'resources/read', { uri: 'hr://teams/a' }),
    request(2, 'resources/read', { uri: 'hr://salary' }),
    { jsonrpc, method: 'resources/read', params: { uri: 'hr://teams/a' } },
    { jsonrpc, method: 'acme/wipe' },
    request(3, 'acme/export'),
  ])
  await until(() => toServer.length === 1 && toClient.length === 2 && dropped.length === 2)
  expect(toServer).toEqual([request(1, 'resources/read', { uri: 'hr://teams/a' })])
  expect(toClient.map(({ id, error }) => [id, error?.code]).sort()).toEqual([
    [2, -32_003],
    [3, -32_003],
  ])
  await gate.fromServer({ jsonrpc, id: 1, result: { contents: [], cacheScope: 'public' } }, 'server')
  expect(toClient.at(-1)?.result).toMatchObject({ contents: [], cacheScope: 'private' })
  expect(await rig().statuses()).toEqual(['confirmed'])
})

it('leaves open a read whose answer is lost, and drops one that was cancelled before it ran', async () => {
  const { gate, send, toServer, toClient } = connection({ resources: { '*': 't.allow' } })
  send(request(1, 'resources/read', { uri: 'hr://a' }))
  await until(() => toServer.length === 1)
  await gate.close('the server has ended')
  expect(toClient).toMatchObject([{ id: 1, error: { code: -32_000 } }])
  await rig().client.flush()
  expect(await rig().statuses()).toEqual(['authorized'])
  const other = connection({ resources: { '*': 't.allow' } })
  other.send(request(1, 'resources/read', { uri: 'hr://a' }))
  other.send({ jsonrpc, method: 'notifications/cancelled', params: { requestId: 1 } })
  await until(() => other.dropped.length > 0)
  expect([other.toServer, other.toClient]).toEqual([[], []])
})

it('hands on a resource link in the result of a tool, and asks when it is followed', async () => {
  const { gate, send, toServer, toClient } = connection()
  const content = [{ type: 'resource_link', uri: 'hr://salary', name: 'salary' }]
  send(request(1, 'tools/call', { name: 'allow', arguments: { n: 1 } }))
  await until(() => toServer.length === 1)
  await gate.fromServer({ jsonrpc, id: 1, result: { content } }, 'server')
  expect(toClient[0]?.result?.content).toEqual(content)
  send(request(2, 'resources/read', { uri: 'hr://salary' }))
  await until(() => toClient.length === 2)
  expect(toClient[1]).toMatchObject({ id: 2, error: { code: -32_003 } })
})

describe('a subscription of 2026-07-28', () => {
  const listen = (id: unknown, ...resourceSubscriptions: unknown[]) =>
    request(id, 'subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions } })

  const acknowledged = (id: unknown) => ({
    jsonrpc,
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
  })
  const sent = async () => {
    const made = connection({ resources: { 'hr://*': 't.allow' } })
    made.send(listen(1, 'hr://a', 'hr://b'))
    await until(() => made.toServer.length === 1)
    expect(asked()).toEqual(['hr://a', 'hr://b'])
    const ids = rig().decisionIds()
    const statuses = () => Promise.all(ids.map(async (id) => (await rig().operator.decision(id)).status))
    return { ...made, statuses }
  }

  it('begins when each of its URIs is permitted, and counts for each once the server has begun it', async () => {
    const { gate, toServer, toClient, statuses } = await sent()
    expect(toServer).toEqual([listen(1, 'hr://a', 'hr://b')])
    await gate.fromServer(acknowledged(2), 'server')
    await rig().client.flush()
    expect(await statuses()).toEqual(['authorized', 'authorized'])
    await gate.fromServer(acknowledged(1), 'server')
    await expect.poll(statuses).toEqual(['confirmed', 'confirmed'])
    await gate.fromServer({ jsonrpc, id: 1, result: {} }, 'server')
    expect(toClient.map(({ id, method }) => id ?? method)).toEqual([acknowledged(1).method, acknowledged(1).method, 1])
  })

  it('counts for none where the server answers an error, and for each where it ends it at once', async () => {
    const refused = await sent()
    const error = { code: -32_602, message: 'no such resource' }
    await refused.gate.fromServer({ jsonrpc, id: 1, error }, 'server')
    expect(refused.toClient).toEqual([{ jsonrpc, id: 1, error }])
    await expect.poll(refused.statuses).toEqual(['rejected', 'rejected'])
    rig().events.length = 0
    const ended = await sent()
    await ended.gate.fromServer({ jsonrpc, id: 1, result: {} }, 'server')
    await expect.poll(ended.statuses).toEqual(['confirmed', 'confirmed'])
  })

  it('is left open where nobody knows whether it has begun', async () => {
    const cancelled = await sent()
    cancelled.send({ jsonrpc, method: 'notifications/cancelled', params: { requestId: 1 } })
    await until(() => cancelled.toServer.length === 2)
    rig().events.length = 0
    const lost = await sent()
    await lost.gate.close('the server is gone')
    expect(lost.toClient).toMatchObject([{ id: 1, error: { code: -32_000 } }])
    await rig().client.flush()
    expect([...(await cancelled.statuses()), ...(await lost.statuses())]).toEqual(Array(4).fill('authorized'))
  })

  it('does not begin when one of them is refused, and counts for none', async () => {
    const { send, toServer, toClient } = connection({ resources: { 'hr://*': 't.allow', 'hr://b': 't.deny' } })
    send(listen(1, 'hr://a', 'hr://b'))
    send(listen(2, 'x://a'))
    send(listen(3, 'HR://a'))
    await until(() => toClient.length === 3)
    expect(toClient.map(({ error }) => error?.code)).toEqual([-32_003, -32_003, -32_003])
    expect(toServer).toEqual([])
    await rig().client.flush()
    expect((await rig().statuses()).sort()).toEqual(['denied', 'rejected'])
  })

  it('passes without URIs, or where subscriptions are open, and is no list of anything else', async () => {
    const { send, toServer, toClient } = connection({ pass: ['resources/subscribe'] })
    send(request(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
    send(listen(2, 'hr://a'))
    await until(() => toServer.length === 2)
    const refusing = connection()
    refusing.send(request(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
    await until(() => refusing.toServer.length === 1)
    refusing.send(listen(2, 7))
    refusing.send(listen(3, ...Array.from({ length: 101 }, (_, n) => `hr://${n}`)))
    await until(() => refusing.toClient.length === 2)
    expect([toClient, refusing.toClient.map(({ error }) => error?.code)]).toEqual([[], [-32_600, -32_600]])
    expect(asked()).toEqual([])
  })

  it.each([
    ['another case of notifications', { Notifications: { resourceSubscriptions: ['hr://a'] } }],
    ['another case of its list', { notifications: { ResourceSubscriptions: ['hr://a'] } }],
    ['two spellings', { notifications: { resourceSubscriptions: [], RESOURCESUBSCRIPTIONS: ['hr://a'] } }],
    ['two spellings of notifications', { notifications: {}, Notifications: { resourceSubscriptions: ['hr://a'] } }],
    ['look-alikes', { notifications: { 'resourceSubscription\u{17F}': ['hr://a'] } }],
    ['no object', { notifications: ['hr://a'] }],
    ['null', { notifications: null }],
  ])('is refused with %s, which a server could take for URIs', async (_, params) => {
    const { send, toServer, toClient } = connection({ others: 'map' })
    send(request(1, 'subscriptions/listen', params))
    await until(() => toServer.length + toClient.length === 1)
    expect([toServer, toClient]).toMatchObject([[], [{ id: 1, error: { code: -32_602 } }]])
  })

  it('is refused with members that differ only in case, wherever they are', async () => {
    const { send, toServer, toClient } = connection()
    send(request(1, 'subscriptions/listen', { notifications: { acme: { topic: 'a', Topic: 'b' } } }))
    await until(() => toServer.length + toClient.length === 1)
    expect([toServer, toClient]).toMatchObject([[], [{ id: 1, error: { code: -32_003 } }]])
  })

  it('does not begin when it is cancelled while it is asked about', async () => {
    const { send, toServer, toClient, dropped } = connection({ resources: { 'hr://*': 't.allow' } })
    send(listen(1, 'hr://a'), 'listen')
    send({ jsonrpc, method: 'notifications/cancelled', params: { requestId: 1 } }, 'cancel')
    await until(() => dropped.includes('listen'))
    expect([toServer, toClient, dropped]).toEqual([[], [], ['cancel', 'listen']])
  })
})

describe('a request of the server', () => {
  it('is answered by the gate where pass leaves it out, and reaches the client in any other case', async () => {
    const some = connection({ pass: ['roots/list'] })
    for (const [index, method] of [
      'sampling/createMessage',
      'elicitation/create',
      'roots/list',
      'ping',
      'own/ask',
    ].entries())
      await some.gate.fromServer(request(index, method), 'server')
    expect(some.toClient.map(({ method }) => method)).toEqual(['roots/list', 'ping'])
    expect(some.toServer).toMatchObject([0, 1, 4].map((id) => ({ id, error: { code: -32_003 } })))
    const all = connection()
    for (const method of ['sampling/createMessage', 'own/ask']) await all.gate.fromServer(request(1, method), 'server')
    expect(all.toClient.map(({ method }) => method)).toEqual(['sampling/createMessage', 'own/ask'])
  })

  it('is answered by the id that the server gave, with its digits', async () => {
    const { gate, toServer } = connection({ pass: ['prompts/get'] })
    const ids = ['1.5', '9007199254740993', 'null', '1.0', '"countersign:id:1"']
    for (const id of ids)
      await gate.fromServer(parseJson(`{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`), 'server')
    expect(toServer.map(textOfJson)).toEqual(
      ids.map((id) => expect.stringMatching(new RegExp(`"id":${id},"error":\\{"code":-32003`))),
    )
  })

  it.each([{}, { task: { taskId: 't' } }])(
    'is none in a result either (2026-07-28) with %j: the call is left open',
    async (more) => {
      const { gate, send, toServer, toClient } = connection({ pass: ['roots/list'] })
      const inputRequests = { ask: { method: 'sampling/createMessage', params: {} } }
      send(request(1, 'tools/call', { name: 'allow', arguments: { n: 1 } }))
      await until(() => toServer.length === 1)
      await gate.fromServer(
        { jsonrpc, id: 1, result: { resultType: 'input_required', inputRequests, ...more } },
        'server',
      )
      expect(toClient).toMatchObject([{ id: 1, error: { code: -32_003 } }])
      expect(JSON.stringify(toClient)).not.toContain('inputRequests')
      await rig().client.flush()
      expect(await rig().statuses()).toEqual(['authorized'])
    },
  )

  it.each([
    ['{"a":1}', -32_600],
    ['[1]', -32_600],
    ['true', -32_600],
    ['1.0,"jsonrpc":"1.0"', -32_600, '1.0'],
    ['7,"method":"Ping"', -32_601, '7'],
  ])('is answered where it is no valid one: its id is %s', async (id, code, answered = 'null') => {
    const { gate, toServer, toClient } = connection()
    const texts = [`{"jsonrpc":"2.0","method":"roots/list","id":${id}}`, '{"jsonrpc":"2.0","method":1}']
    await gate.fromServer(parseJson(`[${texts}]`), 'server')
    expect(toServer).toHaveLength(1)
    expect(textOfJson(toServer[0])).toContain(`{"jsonrpc":"2.0","id":${answered},"error":{"code":${code},`)
    expect(toClient).toEqual([])
  })

  it.each([
    ['in its session by the proxy over HTTP', 'back', 'back', -32_003],
    ['there where its id is an object', { a: 1 }, null, -32_600],
    ['there where its id is a list', [1], null, -32_600],
    ['there where its id is a boolean', true, null, -32_600],
  ])('is answered %s', async (_where, given, answered, code) => {
    const bodies: Told[] = []
    const upstream = await serve((req, res) => {
      let body = ''
      req.on('data', (chunk) => {
        body += chunk
      })
      req.on('end', () => {
        const message = JSON.parse(body) as Told
        bodies.push(message)
        if (message.method === 'initialize') {
          const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} }
          res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
          res.end(JSON.stringify({ jsonrpc, id: message.id, result }))
        } else if (message.method === 'ping') {
          res.writeHead(200, { 'content-type': 'text/event-stream' })
          res.write(`data: ${JSON.stringify(request(given, 'sampling/createMessage'))}\n\n`)
          res.end(`data: ${JSON.stringify({ jsonrpc, id: message.id, result: {} })}\n\n`)
        } else res.writeHead(202).end()
      })
    })
    const { url } = await proxyOf(rig(), upstream.url, { gate: { pass: ['prompts/get'] } })
    const session = await openSession(url)
    const answer = await (await post(url, request(1, 'ping'), { 'mcp-session-id': session })).text()
    expect(answer).not.toContain('sampling')
    await until(() => bodies.some(({ error }) => error !== undefined))
    expect(bodies.find(({ error }) => error !== undefined)).toMatchObject({ id: answered, error: { code } })
    expect(upstream.seen.at(-1)?.headers['mcp-session-id']).toBe(session)
  })
})

describe('a list', () => {
  const RESOURCES = ['hr://teams/a', 'hr://salary', 'x://y', 'HR://teams/b', 'hr://teams/../c'].map((uri) => ({
    uri,
    name: uri,
  }))
  const TEMPLATES = ['hr://{team}', 'hr://salary/{who}', 'x://{y}', '{+any}'].map((uriTemplate) => ({
    uriTemplate,
    name: uriTemplate,
  }))
  const PROMPTS = ['plan', 'fire', 'other'].map((name) => ({ name }))
  const shownBy = async (change: Partial<GateOptions>) => {
    const { gate, send, toServer, toClient } = connection(change)
    const lists = { 'resources/list': RESOURCES, 'resources/templates/list': TEMPLATES, 'prompts/list': PROMPTS }
    const members = ['resources', 'resourceTemplates', 'prompts']
    for (const [index, [method, list]] of Object.entries(lists).entries()) {
      send(request(index, method))
      await until(() => toServer.length === index + 1)
      const member = members[index] as string
      const result = { [member]: list, [member.toUpperCase()]: list, nextCursor: 'next', cacheScope: 'public' }
      await gate.fromServer({ jsonrpc, id: index, result }, 'server')
    }
    return toClient.map(({ result = {} }, index) => {
      const list = result[members[index] as string] as { uri?: string; uriTemplate?: string; name: string }[]
      return { names: list.map(({ name }) => name), result }
    })
  }
  const all = [RESOURCES, TEMPLATES, PROMPTS].map((list) => list.map(({ name }) => name))

  it('shows what the server shows, unless it is told to hide something', async () => {
    for (const change of [{}, { list: 'hide', others: 'pass' }, { list: 'hide', mode: 'observe' }] as const)
      expect((await shownBy(change)).map(({ names }) => names)).toEqual(all)
  })

  it('hides what nothing maps and what can never be allowed, for this caller alone', async () => {
    const shown = await shownBy({
      list: 'hide',
      resources: { 'hr://*': 't.deny', 'hr://teams/*': 't.allow' },
      prompts: { plan: 't.review', fire: 't.deny' },
    })
    expect(shown.map(({ names }) => names)).toEqual([['hr://teams/a'], ['hr://{team}', '{+any}'], ['plan']])
    for (const { result } of shown) {
      expect(result).toMatchObject({ nextCursor: 'next', cacheScope: 'private' })
      expect(Object.keys(result).filter((name) => /^(RESOURCE|PROMPT)/.test(name))).toEqual([])
    }
    const none = await shownBy({ list: 'hide' })
    expect(none.map(({ names }) => names)).toEqual([[], [], []])
  })

  it('shows what depends on the call, and what is asked about by its own name while a policy could allow it', async () => {
    const shown = await shownBy({
      list: 'hide',
      resources: { 'hr://salary': () => ({ action: 't.deny' }) },
      others: 'map',
    })
    expect(shown.map(({ names }) => names)).toEqual([['hr://salary'], ['hr://{team}', '{+any}'], []])
  })
})

/** Numbers that no double holds, in the three gates; and those of a server over HTTP, by their bytes. */
import { PassThrough } from 'node:stream'
import { text as textOfStream } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { gateTransport } from '../src/messages/gate-transport.js'
import { RemoteServer } from '../src/proxy/http/remote-server.js'
import { toolMapping } from '../src/proxy/json-mapping.js'
import { stdioProxy } from '../src/proxy/stdio/stdio-proxy.js'
import { callMessage, post, proxyOf, serve, type Upstream } from './http-rig.js'
import { decisionOf, say, textOf, useRig, withTools } from './rig.js'
import { SDKS } from './sdks.js'
import { ALL_SPELLINGS, SAFE_SPELLINGS, UNSAFE_NUMBERS } from './spellings.js'

const rig = useRig()

/** What is left of them when somebody else has parsed them. */
const READ_NUMBERS = [2 ** 53, -(2 ** 53) - 2, 1e17, Number.POSITIVE_INFINITY]

const IN_PROCESS = SDKS.flatMap((sdk) => (['gate', 'gateTransport'] as const).map((kind) => ({ sdk, kind })))

describe.each(IN_PROCESS)('$kind, $sdk.name', ({ sdk, kind }) => {
  const connect = (runs: string[], mode: 'enforce' | 'observe') => {
    const server = sdk.mcpServer()
    const gated = kind === 'gate' ? rig().gate(server, { mode }) : server
    const around = (transport: unknown) =>
      kind === 'gate' ? transport : gateTransport(transport as never, rig().options({ mode }))
    return sdk.connect(
      withTools(gated, runs, () => say('ran')),
      { around: around as never },
    )
  }

  it.each(READ_NUMBERS)('does not run a call with %s', async (n) => {
    const runs: string[] = []
    const client = await connect(runs, 'enforce')
    const result = await client.call('allow', { n: { deeper: [n] } as never })
    expect(decisionOf(result)).toEqual({ id: null, effect: 'deny', reason: 'arguments_refused' })
    expect(textOf(result)).toContain(`The number ${n} is out of range`)
    expect(runs).toEqual([])
    expect(rig().events).toMatchObject([{ type: 'denied', reason: 'arguments_refused' }])
    await client.close()
  })

  it('runs it where calls are only observed', async () => {
    const runs: string[] = []
    const client = await connect(runs, 'observe')
    expect(textOf(await client.call('allow', { n: 2 ** 53 }))).toBe('ran')
    expect(runs).toEqual([`allow ${2 ** 53}`])
    expect(rig().events).toMatchObject([{ type: 'observed', reason: 'arguments_refused' }])
    await client.close()
  })
})

/** A server of texts. It notes what it gets, and answers by a stream or by one JSON text. */
function serveTexts(answer: (got: string) => string, isStream: boolean): Promise<Upstream & { got?: string[] }> {
  const got: string[] = []
  const served = serve(async (request, response) => {
    const text = await textOfStream(request)
    if (text === '') return response.writeHead(405).end()
    got.push(text)
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.end(isStream ? `id: 1\ndata: ${answer(text)}\n\n` : answer(text))
  })
  return served.then((upstream) => ({ ...upstream, got }))
}

const request = (id: string, params: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping","params":${params}}`
const call = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"allow","arguments":${args}}}`
const NUMBERS = `[${ALL_SPELLINGS}]`

describe.each([
  { name: 'a stream', isStream: true },
  { name: 'one JSON text', isStream: false },
])('over HTTP, answered by $name', ({ isStream }) => {
  const textIn = (body: string): string => (isStream ? (/^data: (.*)$/m.exec(body)?.[1] ?? '') : body)

  it.each([
    ['a result', `{"jsonrpc": "2.0", "id": 7, "result": {"2": ${NUMBERS}, "1": "\\u00e4"}}`],
    ['an error', `{"id": 7, "error": {"code": -3.2e4, "message": "1.0", "data": ${NUMBERS}}, "jsonrpc": "2.0"}`],
    ['a result of another spelling of the id', `{"jsonrpc": "2.0", "id": 7.0, "result": {"a": ${NUMBERS}}}`],
  ])('%s comes as it was sent', async (_what, sent) => {
    const upstream = await serveTexts(() => sent, isStream)
    const { url } = await proxyOf(rig(), upstream.url)
    const given = request('7', `{"a":[${SAFE_SPELLINGS}]}`)
    expect(textIn(await (await post(url, given)).text())).toBe(sent)
    expect(upstream.got).toEqual([given])
  })

  it('the result of a call keeps its digits beside the decision', async () => {
    const sent = `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":${NUMBERS}},"ttlMs":1.0`
    const upstream = await serveTexts(() => `${sent}}}`, isStream)
    const { url } = await proxyOf(rig(), upstream.url)
    const answer = textIn(await (await post(url, call(`{"n":1.0,"a":[${SAFE_SPELLINGS}]}`))).text())
    expect(answer.slice(0, sent.length)).toBe(sent)
    expect(answer.slice(sent.length)).toMatch(
      /^,"_meta":\{"countersign\/decision":\{"id":"dec_\w+","effect":"allow"\}\}\}\}$/,
    )
    expect(upstream.got).toEqual([call(`{"n":1.0,"a":[${SAFE_SPELLINGS}]}`)])
    expect(await rig().statuses()).toEqual(['confirmed'])
  })

  it('the error of a call keeps its digits', async () => {
    const sent = `{"jsonrpc":"2.0","id":1,"error":{"code":-32050.0,"message":"declined: 1.0","data":{"a":${NUMBERS}}}}`
    const upstream = await serveTexts(() => sent, isStream)
    const { url } = await proxyOf(rig(), upstream.url)
    expect(textIn(await (await post(url, call('{"n":1.0}'))).text())).toBe(sent)
    expect(await rig().statuses()).toEqual(['rejected'])
  })
})

it('all that a stream brings comes as it was sent over HTTP: notifications, requests, errors', async () => {
  const sent = [
    `{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": ${NUMBERS}}}`,
    `{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1.0, "progress": 1E2, "total": 9007199254740993}}`,
    `{"jsonrpc": "2.0", "id": 8, "method": "roots/list", "params": {"numbers": ${NUMBERS}}}`,
    `{"jsonrpc": "2.0", "method": "acme/told", "params": ${NUMBERS}}`,
    `{"error": {"code": -32e3, "message": "1.0", "data": ${NUMBERS}}, "id": 7, "jsonrpc": "2.0"}`,
  ]
  const upstream = await serve(async (incoming, response) => {
    await textOfStream(incoming)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(sent.map((one) => `data: ${one}\n\n`).join(''))
  })
  const { url } = await proxyOf(rig(), upstream.url)
  const body = await (await post(url, request('7', '{}'))).text()
  expect(body.match(/(?<=^data: ).*$/gm)).toEqual(sent)
})

describe('a template over HTTP', () => {
  const send = async (args: string) => {
    const upstream = await serveTexts(() => '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}', false)
    const allow = toolMapping({ action: 't.allow', resource: 'file:/public/{path}/{in.id}' })
    const { url } = await proxyOf(rig(), upstream.url, { gate: { map: { allow } } })
    return { answer: await (await post(url, call(args))).text(), got: upstream.got }
  }

  it.each([
    ['{"path":1.0,"in":{"id":1}}', '{path}, which is the number 1.0: send it as 1, or as a string.'],
    ['{"path":1,"in":{"id":1E2}}', '{in.id}, which is the number 1E2: send it as 100, or as a string.'],
    ['{"path":-0,"in":{"id":1}}', '{path}, which is the number -0: send it as 0, or as a string.'],
    ['{"path":1,"in":{"id":1e-7}}', '{in.id}, which is the number 1e-7: send it as a string.'],
    [
      '{"path":1,"in":{"id":0.10000000000000000001}}',
      '{in.id}, which is the number 0.10000000000000000001: send it as 0.1',
    ],
  ])('refuses a number that the tool could get as another text: %s', async (args, words) => {
    const { answer, got } = await send(args)
    expect(answer).toContain(words)
    expect(answer).toContain('"effect":"deny","reason":"question_refused"')
    expect(got).toEqual([])
  })

  it.each(['{"path":1,"in":{"id":0.5},"other":1.0}', '{"path":"1.0","in":{"id":"1E2","n":1E2}}'])(
    'takes what the tool gets as the same text: %s',
    async (args) => expect((await send(args)).got).toEqual([call(args)]),
  )
})

describe('the proxy over HTTP', () => {
  it.each(UNSAFE_NUMBERS)('refuses what holds %s, and sends nothing', async (number) => {
    const upstream = await serveTexts(() => '{}', false)
    const { url } = await proxyOf(rig(), upstream.url)
    const refused = await (await post(url, call(`{"n":${number}}`))).text()
    expect(refused).toMatch(/^\{"jsonrpc":"2\.0","id":1,"result":.*"reason":"arguments_refused"\}\}\}\}$/)
    const other = await (await post(url, request(number, '{}'))).text()
    expect(other).toContain(`{"jsonrpc":"2.0","id":${number},"error":{"code":-32600,`)
    expect(upstream.got).toEqual([])
  })

  it('keeps the digits of what it stands before on standard input', async () => {
    const [list, result] = [
      `{"jsonrpc": "2.0", "id": 1, "result": {"a": ${NUMBERS}}}`,
      `"id":2,"result":{"a":${NUMBERS},`,
    ]
    const answer = (got: string) =>
      got.includes('ping') ? list : `{"jsonrpc": "2.0", "id": 2.0, "result": {"a": ${NUMBERS}}}`
    const upstream = await serveTexts(answer, false)
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const [input, output] = [new PassThrough(), new PassThrough()]
    const server = new RemoteServer(upstream.url, {}, log)
    const { signal } = new AbortController()
    const ended = stdioProxy({ server, gate: rig().options(), input, output, log, signal })
    input.write(`${request('1', '{"a":1.0}')}\n`)
    input.end(`${JSON.stringify(callMessage(2))}\n`)
    await ended
    output.end()
    const [first, second] = (await textOfStream(output)).split('\n').toSorted().reverse()
    expect([first, second].some((line) => line === list)).toBe(true)
    expect([first, second].some((line) => line?.includes(result))).toBe(true)
    expect(upstream.got?.[0]).toBe(request('1', '{"a":1.0}'))
  })
})

it('definitions of tools are hashed by the values of their numbers', async () => {
  const { definitionHash } = await import('@countersign/mcp')
  const { parseJson } = await import('../src/json/exact-json.js')
  const tool = (maximum: string) => parseJson(`{"name":"a","inputSchema":{"type":"object","maximum":${maximum}}}`)
  expect(definitionHash(tool('1E5'))).toBe(definitionHash(tool('100000')))
  expect(definitionHash(tool('1E5'))).not.toBe(definitionHash(tool('100001')))
})

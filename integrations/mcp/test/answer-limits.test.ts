/** What one answer of a server may hold, so that it does not hold up the clients of others; and what becomes of its request. */
import { PassThrough } from 'node:stream'
import { text as textOfStream } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { RemoteServer } from '../src/proxy/http/remote-server.js'
import { stdioProxy } from '../src/proxy/stdio/stdio-proxy.js'
import { callMessage, messagesOf, openSession, post, proxyOf, serve } from './http-rig.js'
import { useRig } from './rig.js'

const rig = useRig()

const MIB = 1024 * 1024
const list = (piece: string, count: number): string => Array.from({ length: count }, () => piece).join()
const resultWith = (content: string): string => `{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":${content}}}`

const HUGE: readonly [what: string, content: () => string, words: string][] = [
  ['more bytes', () => `"${'a'.repeat(16 * MIB + 100_000)}"`, `more than ${16 * MIB} bytes`],
  ['more values', () => `[${list('[]', 250_001)}]`, 'more than 500000 values'],
  [
    'more numbers of other spellings',
    () => `[${list('1.0', 200_001)}]`,
    'more than 200000 numbers in another spelling than that of JavaScript',
  ],
  ['more levels', () => '['.repeat(100_000) + ']'.repeat(100_000), 'more than 1000 levels'],
]

/** A server that answers each POST by this text, as JSON or in an event. */
function serveText(text: string, asEvent: boolean) {
  return serve(async (request, response) => {
    await request.toArray()
    const isGet = request.method === 'GET'
    response.writeHead(isGet ? 405 : 200, { 'content-type': asEvent ? 'text/event-stream' : 'application/json' })
    response.end(isGet ? '' : asEvent ? `data: ${text}\n\n` : text)
  })
}

describe.each([
  ['as JSON', false],
  ['as an event', true],
])('an answer %s', (_name, asEvent) => {
  it.each(HUGE)(
    'of %s gives its request an error that says so, and its call stays open',
    async (_what, content, words) => {
      const upstream = await serveText(resultWith(content()), asEvent)
      const { url } = await proxyOf(rig(), upstream.url)
      const text = await (await post(url, callMessage(1))).text()
      const [message] = asEvent ? messagesOf(text) : [JSON.parse(text)]
      expect(message).toMatchObject({ id: 1, error: { code: -32603, message: expect.stringContaining(words) } })
      expect(await rig().statuses()).toEqual(['authorized'])
    },
  )

  it('is told over standard output too', async () => {
    const [, content, words] = HUGE[1]!
    const upstream = await serveText(resultWith(content()), asEvent)
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const [input, output] = [new PassThrough(), new PassThrough()]
    const server = new RemoteServer(upstream.url, {}, log)
    const ended = stdioProxy({
      server,
      gate: rig().options(),
      input,
      output,
      log,
      signal: new AbortController().signal,
    })
    input.end(`${JSON.stringify(callMessage(1))}\n`)
    await ended
    output.end()
    const answer = JSON.parse((await textOfStream(output)).trim())
    expect(answer).toMatchObject({ id: 1, error: { code: -32603, message: expect.stringContaining(words) } })
    expect(await rig().statuses()).toEqual(['authorized'])
  })
})

it('a refusal of more values is told by its status', async () => {
  const upstream = await serve(async (request, response) => {
    await request.toArray()
    response.writeHead(503, { 'content-type': 'application/json' }).end(resultWith(`[${list('[]', 250_001)}]`))
  })
  const { url } = await proxyOf(rig(), upstream.url)
  const response = await post(url, callMessage(1))
  expect([response.status, await response.json()]).toMatchObject([503, { id: 1, error: { code: -32603 } }])
})

it('an event of more on a stream of its own ends the stream, and the client can open another one', async () => {
  const upstream = await serve(async (request, response) => {
    const { id } = JSON.parse((await request.toArray()).join('') || '{}')
    const isGet = request.method === 'GET'
    response.writeHead(200, {
      'content-type': isGet ? 'text/event-stream' : 'application/json',
      'mcp-session-id': 'session-1',
    })
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }
    if (!isGet) return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    const params = { level: 'info', data: 0 }
    const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })
    response.write(`data: ${note}\n\n`)
    return response.end(`data: ${note.replace('0}', `[${list('[]', 250_001)}]}`)}\n\ndata: ${note}\n\n`)
  })
  const { url } = await proxyOf(rig(), upstream.url)
  const headers = { accept: 'text/event-stream', 'mcp-session-id': await openSession(url) }
  for (const _time of [1, 2]) {
    const response = await fetch(url, { headers })
    const reader = response.body!.getReader()
    expect(messagesOf(new TextDecoder().decode((await reader.read()).value))).toHaveLength(1)
    await expect(reader.read()).rejects.toThrow()
  }
})

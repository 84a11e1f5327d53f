/** What one message of a client may hold, so that it does not hold up others; and that servers may send more. */
import { PassThrough } from 'node:stream'
import { text as textOfStream } from 'node:stream/consumers'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, describe, expect, it } from 'vitest'
import { RemoteServer } from '../src/proxy/http/remote-server.js'
import { stdioProxy } from '../src/proxy/stdio/stdio-proxy.js'
import { post, proxyOf, serve } from './http-rig.js'
import { Rig } from './rig.js'

const point = useDecisionPoint()
let rig: Rig
beforeAll(async () => {
  rig = await Rig.open(point())
})

const list = (piece: string, count: number): string => Array.from({ length: count }, () => piece).join()
const request = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`
const call = (args: string): string => request('tools/call', `{"name":"allow","arguments":${args}}`)
const ping = (numbers: string): string => request('ping', `{"a":[${numbers}]}`)

/** A server that notes what it gets, and answers each request with an empty result. */
async function served(result = '{"content":[]}') {
  const got: string[] = []
  const upstream = await serve(async (incoming, response) => {
    const text = await textOfStream(incoming)
    if (text !== '') got.push(text)
    response.writeHead(text === '' ? 405 : 200, { 'content-type': 'application/json' })
    response.end(text === '' ? '' : `{"jsonrpc":"2.0","id":7,"result":${result}}`)
  })
  return { url: upstream.url, got }
}

/** By what each way of the proxy answers to a message, and what the server got of it. */
const WAYS = [
  {
    way: 'over HTTP',
    async send(text: string) {
      const { url, got } = await served()
      const proxy = await proxyOf(rig, url)
      return { answer: await (await post(proxy.url, text)).text(), got }
    },
  },
  {
    way: 'over standard input',
    async send(text: string) {
      const { url, got } = await served()
      const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
      const [input, output] = [new PassThrough(), new PassThrough()]
      const server = new RemoteServer(url, {}, log)
      const { signal } = new AbortController()
      const ended = stdioProxy({ server, gate: rig.options(), input, output, log, signal })
      input.end(`${text}\n`)
      await ended
      output.end()
      return { answer: (await textOfStream(output)).trim(), got }
    },
  },
]

describe.each(WAYS)('a message $way', ({ send }) => {
  const values = 'A message may have 100000 values'
  const spellings = 'A message may have 10000 numbers in another spelling than that of JavaScript'

  it.each([
    ['a call with too many odd numbers', call(`{"a":[${list('1.0', 10_001)}]}`), spellings],
    ['another request with too many', ping(list('1E5', 10_001)), spellings],
    ['a call with too many values', call(`{"a":[${list('1', 100_001)}]}`), values],
    ['a request of too many empty lists', ping(list('[]', 50_001)), values],
    ['too many levels', ping('['.repeat(100_001) + ']'.repeat(100_001)), values],
  ])('is refused by its id, and names the bound: %s', async (_what, text, words) => {
    const { answer, got } = await send(text)
    expect(JSON.parse(answer)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32600, message: expect.stringContaining(words) },
    })
    expect(got).toEqual([])
  })

  it('passes with as many as there may be, as it was sent', async () => {
    const text = ping(`${list('1.0', 10_000)},${list('1', 89_000)}`)
    const { answer, got } = await send(text)
    expect(JSON.parse(answer)).toMatchObject({ id: 7, result: {} })
    expect(got).toEqual([text])
  })
})

it('each message of a batch is refused, and an answer becomes an error for the server', async () => {
  const { url, got } = await served()
  const proxy = await proxyOf(rig, url)
  const text = `[${ping(list('1.0', 10_001))},{"jsonrpc":"2.0","id":"s","result":{}}]`
  const message = expect.stringContaining('A message may have 10000 numbers')
  const [refused] = (await (await post(proxy.url, text)).json()) as [unknown]
  expect(refused).toMatchObject({ id: 7, error: { code: -32600, message } })
  expect(JSON.parse(got[0] ?? '')).toMatchObject([{ id: 's', error: { code: -32603, message } }])
})

it('an answer of a server may have more, and keeps its digits', async () => {
  const numbers = `[${list('1.0,9007199254740993', 60_000)}]`
  const { url } = await served(`{"content":[],"structuredContent":{"a":${numbers}}}`)
  const proxy = await proxyOf(rig, url)
  const answer = await (await post(proxy.url, call('{"n":1}'))).text()
  expect(answer.includes(`"structuredContent":{"a":${numbers}}`)).toBe(true)
})

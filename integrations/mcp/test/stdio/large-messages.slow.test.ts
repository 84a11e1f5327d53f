/** Messages that are too large, through the proxy as it is shipped: of a hostile server, and of a hostile client. */
import { describe, expect, test } from 'vitest'
import { useProxies } from './proxied-server.js'

const { start, lastStatus } = useProxies(['echo', 'raw', 'hang'], { others: 'pass' })

const MIB = 1024 * 1024
const KINDS: readonly [what: string, piece: string, times: number, words: string][] = [
  ['bytes', '"xxxxxxxxxxxx",', 1.2 * MIB, `more than ${16 * MIB} bytes`],
  ['values', '[],', 250_001, 'more than 500000 values'],
  ['numbers of other spellings', '1.0,', 200_001, 'more than 200000 numbers'],
  ['levels', '[', 100_000, 'more than 1000 levels'],
]

describe('a server that writes more than a message may have', () => {
  test.each(KINDS)(
    'of %s: the request gets an error, the call stays open, and others go on',
    async (what, piece, times, words) => {
      const proxy = start()
      proxy.call('hanging', 'hang')
      const end = what === 'levels' ? ']'.repeat(times) : '0'
      const [before, after] = ['{"jsonrpc":"2.0","result":{"content":[],"x":[', `${end}]},"id":7}`]
      proxy.call(7, 'raw', { before, piece, times, after })
      expect((await proxy.answerTo(7)).error).toEqual({ code: -32603, message: expect.stringContaining(words) })
      expect(await lastStatus()).toBe('authorized')
      proxy.call(8, 'echo', { n: 1 })
      expect(await proxy.textOf(8)).toBe('{"n":1}')
      expect(proxy.messages.filter(({ id }) => id === 'hanging')).toEqual([])
      expect(proxy.errors).toContain(words)
    },
  )

  test.each(KINDS.slice(0, 2))('of %s in a request of its own gets an error', async (_what, piece, times, words) => {
    const proxy = start()
    const [before, after] = ['{"jsonrpc":"2.0","method":"roots/list","params":{"x":[', '0]},"id":{"a":1}}']
    proxy.call(1, 'raw', { before, piece, times, after })
    proxy.call(2, 'raw', { before, piece, times, after: after.replace('{"a":1}', '"countersign:id:1"') })
    await proxy.noted('answer null -32600')
    await proxy.noted('answer "countersign:id:1" -32600')
    expect(proxy.messages).toEqual([])
    expect(proxy.errors).toContain(words)
  })

  test('in a batch: each of its requests gets an error', async () => {
    const proxy = start()
    proxy.send({ id: 1, method: 'own/hangs' })
    proxy.call(2, 'raw', {
      before: '[{"jsonrpc":"2.0","id":1,"result":{"x":[',
      piece: '[],',
      times: 250_001,
      after: '0]}},{"jsonrpc":"2.0","id":2,"result":{}}]',
    })
    for (const id of [1, 2]) expect((await proxy.answerTo(id)).error).toMatchObject({ code: -32603 })
  })
})

test.each([
  ['bytes', '"xxxxxxxxxxxx",', 1.2 * MIB, `A message may have ${16 * MIB} bytes`],
  ['values', '[],', 250_001, 'A message may have 100000 values'],
  ['numbers of other spellings', '1.0,', 20_000, 'A message may have 10000 numbers'],
])(
  'a client that writes more %s than a message may have gets an error, and goes on',
  async (_what, piece, times, words) => {
    const proxy = start()
    const refused = { code: -32600, message: expect.stringContaining(words) }
    const call = '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"x":['
    proxy.write(`${call}${piece.repeat(times)}0]}},"id":"big"}\n`)
    expect((await proxy.answerTo('big')).error).toEqual(refused)
    proxy.write(`{"jsonrpc":"2.0","id":1.0,"method":"ping","params":{"x":[${piece.repeat(times)}0]}}\n`)
    expect((await proxy.answerTo(1)).error).toEqual(refused)
    proxy.call(2, 'raw', { before: '{"jsonrpc":"2.0","id":"s","method":"roots/list"}', piece: '', times: 0, after: '' })
    await expect
      .poll(() => proxy.messages.some(({ id, method }) => id === 's' && method === 'roots/list'), { timeout: 15_000 })
      .toBe(true)
    proxy.write(`{"jsonrpc":"2.0","result":{"roots":[${piece.repeat(times)}0]},"id":"s"}\n`)
    await proxy.noted('answer "s" -32603')
    proxy.call(3, 'echo', { n: 1 })
    expect(await proxy.textOf(3)).toBe('{"n":1}')
    expect(proxy.notes().filter((note) => note.startsWith('call'))).toEqual(['call raw', 'call echo'])
  },
)

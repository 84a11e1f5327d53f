import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { excessOf } from '../../json/exact-json.js'
import { SERVER_LINES } from '../message-text.js'
import { lineOf, MAX_LINE_BYTES, readLines } from './json-lines.js'

/** The messages of the chunks, and the words for garbage. */
async function readAll(...chunks: readonly (string | Buffer)[]): Promise<unknown[]> {
  const stream = new PassThrough()
  const told: unknown[] = []
  const listener = {
    onMessage: (message: unknown) => told.push(message),
    onGarbage: (fault: string, start: string) => told.push(`${fault}: ${start}`),
  }
  readLines(stream, listener, SERVER_LINES)
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  await finished(stream)
  return told
}

test('messages are split at newlines, wherever chunks are', async () => {
  const text = `${[{ a: 1 }, { b: 'ä€😀' }, [{ c: 3 }]].map(lineOf).join('')}`
  const whole = [{ a: 1 }, { b: 'ä€😀' }, [{ c: 3 }]]
  expect(await readAll(text)).toEqual(whole)
  expect(await readAll(...[...Buffer.from(text)].map((byte) => Buffer.of(byte)))).toEqual(whole)
})

test('blank lines, carriage returns and a last line that nobody has ended are nothing', async () => {
  expect(await readAll('\n\r\n  \n{"a":1}\r\n\t{"b":2} \n{"c":3}')).toEqual([{ a: 1 }, { b: 2 }])
})

test('separators of Unicode end no line', async () => {
  expect(await readAll('"\u2028\u2029\u0085"\n')).toEqual(['\u2028\u2029\u0085'])
})

test('bytes that are no UTF-8 are replaced, and cost no other line', async () => {
  expect(await readAll(Buffer.from('"\xff\xfe"\n{"a":1}\n', 'latin1'))).toEqual(['\ufffd\ufffd', { a: 1 }])
})

test('what is no JSON is told by its beginning, in printable ASCII', async () => {
  expect(await readAll(`\x1b[31mred ${'x'.repeat(200)}\n{"a":\n1`)).toEqual([
    `a line that is not JSON: ?[31mred ${'x'.repeat(91)}`,
    'a line that is not JSON: {"a":',
  ])
})

test('a line without an end is forgotten, and the next one is read', async () => {
  const part = Buffer.alloc(MAX_LINE_BYTES / 4, 'x')
  const told = await readAll(part, part, part, part, part, part, part, part, part, 'x\n{"a":1}\n')
  expect(told).toEqual(['a line that is too long, and no message: ', { a: 1 }])
})

test('of a message that is too large the id is left, wherever it stands, and why it was not read', async () => {
  const long = 'x'.repeat(MAX_LINE_BYTES)
  const many = Array.from({ length: 500_001 }, () => 1)
  const code = expect.any(Number)
  const told = await readAll(
    ...[
      { id: 7, result: long },
      { result: many, id: 'a' },
      { method: 'a', params: many, id: 2 },
    ].map(lineOf),
    lineOf([
      { id: 3, result: 0 },
      { method: 'a', params: { id: 5, many } },
    ]),
  )
  const error = (words: string) => ({ code, message: expect.stringContaining(words) })
  expect(told).toEqual([
    { jsonrpc: '2.0', id: 7, error: error('16777216 bytes') },
    { jsonrpc: '2.0', id: 'a', error: error('500000 values') },
    { jsonrpc: '2.0', id: 2, method: 'unread' },
    [
      { jsonrpc: '2.0', id: 3, error: error('500000 values') },
      { jsonrpc: '2.0', method: 'unread' },
    ],
  ])
  expect(told.flat().map(excessOf)).toEqual(['16777216 bytes', ...Array.from({ length: 4 }, () => '500000 values')])
})

test('what cannot be written is thrown', () => {
  const circular: unknown[] = []
  circular.push(circular)
  expect(() => lineOf(circular)).toThrow(TypeError)
})

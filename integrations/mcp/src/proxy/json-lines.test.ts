import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { lineOf, MAX_LINE_BYTES, readLines } from './json-lines.js'

/** What is told of chunks; garbage as its words. */
async function readAll(...chunks: readonly (string | Buffer)[]): Promise<unknown[]> {
  const stream = new PassThrough()
  const told: unknown[] = []
  readLines(stream, {
    onMessage: (message) => told.push(message),
    onGarbage: (fault, start) => told.push(`${fault}: ${start}`),
  })
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
  expect(told).toEqual([`a line of more than ${MAX_LINE_BYTES} bytes: `, { a: 1 }])
})

test('what cannot be written is thrown', () => {
  const circular: unknown[] = []
  circular.push(circular)
  expect(() => lineOf(circular)).toThrow(TypeError)
})

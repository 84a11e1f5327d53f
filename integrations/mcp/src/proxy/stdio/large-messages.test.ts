import { expect, test } from 'vitest'
import { textOfJson } from '../../json/exact-json.js'
import { LargeMessages } from './large-messages.js'

/** The names that are kept of a text that arrives byte by byte. */
function namesIn(text: string) {
  const large = new LargeMessages()
  for (const byte of Buffer.from(text)) large.take(Uint8Array.of(byte))
  return large.names
}

const REQUEST = { hasId: true, hasMethod: true }
const RESPONSE = { hasId: true, hasMethod: false }

test.each([
  ['{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":[{"id":9}]}}', { ...RESPONSE, id: 7 }],
  ['{"result": {"x": "}{][\\\\\\",\\"id\\":3"}, "id" : "a\\"ä:,{"}', { ...RESPONSE, id: 'a"ä:,{' }],
  ['{"\\u0069d":1,"params":[],"method":"a"}', { ...REQUEST, id: 1 }],
  ['{"id":1,"result":0,"id":2}', { ...RESPONSE, id: 2 }],
  ['{"id":{"id":5},"method":"a"}', { ...REQUEST, id: undefined }],
  ['{"id":null,"error":{}}', { ...RESPONSE, id: null }],
  ['{"method":"a","params":{"id":1}}', { id: undefined, hasId: false, hasMethod: true }],
  [`{"id":"${'x'.repeat(2_000)}","result":{}}`, { ...RESPONSE, id: undefined }],
  [`{"id":${'1'.repeat(2_000)},"result":{}}`, { ...RESPONSE, id: undefined }],
])('a message is named by its id: %s', (text, name) => expect(namesIn(text)).toEqual([name]))

test('an id keeps its digits', () => {
  expect(textOfJson(namesIn('{"id":9007199254740993,"result":{}}')[0]?.id)).toBe('9007199254740993')
})

test('each message of a batch is named, up to as many as there may be', () => {
  expect(namesIn('[{"id":1,"result":[{"id":0}]}, {"method":"a"},[{"id":2}],3]').map(({ id }) => id)).toEqual([
    1,
    undefined,
  ])
  expect(namesIn(`[${Array.from({ length: 200 }, () => '{"id":1,"result":{}}')}]`)).toHaveLength(100)
})

test.each(['', '[[[[', '}}}}', '"id":1', '{"id":1', '{"result":{"id":1}}', 'no JSON, {"a" or so]'])(
  'nothing is named by what has no whole message with an id or a method: %s',
  (text) => expect(namesIn(text)).toEqual([]),
)

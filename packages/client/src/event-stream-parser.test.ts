import { describe, expect, it } from 'vitest'
import { EventStreamParser, EventTooLarge, type ServerSentEvent } from './event-stream-parser.js'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function parse(text: string | Uint8Array, parser = new EventStreamParser()): ServerSentEvent[] {
  return [...parser.push(typeof text === 'string' ? bytesOf(text) : text)]
}

const message = (data: string, id?: string) => ({ id, type: 'message', data })

describe('EventStreamParser', () => {
  it.each([
    [
      'an event with each field',
      'id: 7\nevent: change\ndata: {"a":1}\n\n',
      [{ id: '7', type: 'change', data: '{"a":1}' }],
    ],
    ['CR', 'data: a\r\rdata: b\r\r', [message('a'), message('b')]],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', [message('a'), message('b')]],
    ['ends of line of each kind', 'data: a\rdata: b\ndata: c\r\n\n', [message('a\nb\nc')]],
    ['data of several lines', 'data: a\ndata:\ndata: b\n\n', [message('a\n\nb')]],
    ['only one space after the colon', 'data:  a\n\ndata:b\n\n', [message(' a'), message('b')]],
    ['a colon in the value', 'data: a: b\n\n', [message('a: b')]],
    ['a field without a colon', 'data: a\ndata\n\n', [message('a\n')]],
    ['comments', ': hello\ndata: a\n: between\ndata: b\n\n:\n\n', [message('a\nb')]],
    ['unknown fields and those in capitals', 'date: a\nDATA: b\n data: c\ndata: d\n\n', [message('d')]],
    ['no event without data', 'event: change\nid: 7\n\ndata: a\n\n', [message('a', '7')]],
    [
      'no type from the event before',
      'event: x\ndata: a\n\ndata: b\n\n',
      [{ ...message('a'), type: 'x' }, message('b')],
    ],
    ['the id from the event before', 'id: 1\ndata: a\n\ndata: b\n\n', [message('a', '1'), message('b', '1')]],
    ['an empty id', 'id: 1\ndata: a\n\nid\ndata: b\n\n', [message('a', '1'), message('b', '')]],
    ['no id that holds NUL', 'id: 1\nid: 2\0\ndata: a\n\n', [message('a', '1')]],
    ['a byte order mark at the start', '\u{feff}data: a\n\n', [message('a')]],
    ['no byte order mark later', 'data: a\n\u{feff}data: b\n\n', [message('a')]],
    ['a byte order mark in the data', 'data: \u{feff}a\n\n', [message('\u{feff}a')]],
    ['nothing that no blank line has ended', 'data: a\n\nid: 2\ndata: b\n', [message('a')]],
    ['blank lines alone', '\n\n\r\n\r\r', []],
  ])('reads %s', (_what, text, events) => {
    expect(parse(text)).toEqual(events)
  })

  it('reads the same however the bytes are cut', () => {
    const text = '\u{feff}id: ä1\r\nevent: 変更\r\ndata: €\r\ndata: 😀\r\n\r\n: —\r\rretry: 10\r\ndata: ü\n\n'
    const whole = bytesOf(text)
    const events = parse(whole)
    expect(events).toEqual([
      { id: 'ä1', type: '変更', data: '€\n😀' },
      { id: 'ä1', type: 'message', data: 'ü' },
    ])
    for (let cut = 0; cut <= whole.byteLength; cut += 1) {
      const parser = new EventStreamParser()
      expect([...parse(whole.subarray(0, cut), parser), ...parse(whole.subarray(cut), parser)]).toEqual(events)
    }
    const byByte = new EventStreamParser()
    expect([...whole].flatMap((byte) => parse(Uint8Array.of(byte), byByte))).toEqual(events)
  })

  it('replaces what is not UTF-8, and reads on', () => {
    const broken = Uint8Array.from([...bytesOf('data: a'), 0xe2, 0x82, ...bytesOf('\n\ndata: b\n\n')])
    expect(parse(broken)).toEqual([message('a\u{fffd}'), message('b')])
  })

  it('says where to resume: behind what a blank line has ended', () => {
    const parser = new EventStreamParser()
    expect(parser.lastEventId).toBeUndefined()
    parse('id: 1\n', parser)
    expect(parser.lastEventId).toBeUndefined()
    parse('\n', parser)
    expect(parser.lastEventId).toBe('1')
    parse('id: 2\ndata: a\n\nid: 3\ndata: b\n', parser)
    expect(parser.lastEventId).toBe('2')
  })

  it.each([
    ['retry: 1500\n', 1500],
    ['retry: 1500\nretry: soon\n', 1500],
    ['retry: 1500\nretry: -1\n', 1500],
    ['retry\n', undefined],
    ['retry: 1.5\n', undefined],
  ])('takes of %j the time to wait', (text, retryMs) => {
    const parser = new EventStreamParser()
    parse(text, parser)
    expect(parser.retryMs).toBe(retryMs)
  })

  it.each([
    ['a line without an end', `data: ${'x'.repeat(1000)}`],
    ['many short lines', 'data: xxxxxxxxxxx\n'.repeat(64)],
    ['many lines of other fields', 'event: xxxxxxxxxx\n'.repeat(64)],
    ['a comment without an end', `:${'x'.repeat(1001)}`],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text, new EventStreamParser(1000))).toThrow(EventTooLarge)
    const byByte = new EventStreamParser(1000)
    expect(() => [...bytesOf(text)].flatMap((byte) => parse(Uint8Array.of(byte), byByte))).toThrow(EventTooLarge)
  })

  it('reads an event of the largest size, and any number of events and comments', () => {
    const parser = new EventStreamParser(1000)
    const largest = 'x'.repeat(994)
    for (let round = 0; round < 10; round += 1) {
      expect(parse(`data: ${largest}\n\n${': heartbeat\n'.repeat(1000)}`, parser)).toEqual([message(largest)])
    }
  })

  it('bounds an event to 1 MiB', () => {
    const largest = `data: ${'x'.repeat(1024 * 1024 - 6)}`
    expect(parse(`${largest}\n\n`)).toHaveLength(1)
    expect(() => parse(`${largest}x`)).toThrow(EventTooLarge)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AnswerTooLarge } from '../../messages/answer-errors.js'
import { commentText, eventText, retryText, type StreamPart, streamParts } from './event-stream.js'

async function partsOf(chunks: readonly Uint8Array[], maxBytes = 1000): Promise<StreamPart[]> {
  async function* source() {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  const parts: StreamPart[] = []
  for await (const part of streamParts(source(), maxBytes)) parts.push(part)
  return parts
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('a stream', () => {
  it('is read as it was written, however it is cut', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n\0\uFEFF]/gu, ''))
    const part = fc.oneof(
      fc.record({ kind: fc.constant('event' as const), id: line.filter((id) => id !== ''), data: line }),
      fc.record({ kind: fc.constant('retry' as const), milliseconds: fc.nat() }),
      fc.record({ kind: fc.constant('comment' as const), text: line }),
    )
    const drawn = fc.tuple(fc.array(part), fc.constantFrom('\n', '\r\n', '\r'), fc.integer({ min: 1, max: 7 }))
    await fc.assert(
      fc.asyncProperty(drawn, async ([parts, newline, size]) => {
        const written = bytes(parts.map(textOf).join('').replaceAll('\n', newline))
        const chunks = Array.from({ length: Math.ceil(written.length / size) }, (_, i) =>
          written.subarray(i * size, (i + 1) * size),
        )
        const read = await partsOf(chunks)
        expect(read.map((one) => ({ event: undefined, ...one }))).toEqual(
          parts.map((one) => ({ event: one.kind === 'event' && one.data !== '' ? 'message' : undefined, ...one })),
        )
      }),
    )
  })

  it('ends an event by two returns, also as the last of it', async () => {
    expect(await partsOf([bytes('data: a\r\r')])).toMatchObject([{ data: 'a' }])
    expect(await partsOf([bytes('data: a\r'), bytes('\ndata: b\r'), bytes('\n\r')])).toMatchObject([{ data: 'a\nb' }])
    expect(await partsOf([bytes('data: a\r'), bytes('\n')])).toEqual([])
  })

  it('has no event that was not ended', async () => {
    expect(await partsOf([bytes('data: a\n\ndata: b\n')])).toEqual([
      { kind: 'event', id: undefined, event: undefined, data: 'a' },
    ])
  })

  it.each([
    ['in one line', ['data: ', 'x'.repeat(1000)]],
    ['in many', Array.from({ length: 200 }, () => 'data: x\n')],
    ['in many between comments', Array.from({ length: 200 }, () => ': c\ndata: x\n')],
  ])('has no event without an end %s', async (_name, texts) => {
    await expect(partsOf(texts.map(bytes))).rejects.toThrow(AnswerTooLarge)
  })

  it('may go on for ever by events of a fair size', async () => {
    const texts = Array.from({ length: 100 }, () => `data: ${'x'.repeat(900)}\n\n`)
    expect((await partsOf(texts.map(bytes))).length).toBe(100)
  })
})

function textOf(part: StreamPart): string {
  if (part.kind === 'retry') return retryText(part.milliseconds)
  return part.kind === 'comment' ? commentText(part.text) : eventText(part.data, part.id)
}

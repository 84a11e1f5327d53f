import { describe, expect, it } from 'vitest'
import { LinesError, linesOf } from './lines.js'

async function* cut(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const whole = new TextEncoder().encode(text)
  for (let at = 0; at < whole.length; at += bytes) yield whole.subarray(at, at + bytes)
}

/** The lines, and the error that ended them. */
async function readLines(chunks: AsyncIterable<Uint8Array>, maxBytes?: number) {
  const lines: string[] = []
  try {
    for await (const line of linesOf(chunks, maxBytes)) lines.push(new TextDecoder().decode(line))
    return { lines, error: null }
  } catch (error) {
    if (!(error instanceof LinesError)) throw error
    return { lines, error: { line: error.line, fault: error.fault } }
  }
}

describe('lines of a stream', () => {
  it('are the same wherever it is cut', async () => {
    for (const bytes of [1, 2, 3, 5, 100])
      expect(await readLines(cut('a\n\nüb\nc\n', bytes))).toEqual({ lines: ['a', '', 'üb', 'c'], error: null })
    expect(await readLines(cut('', 1))).toEqual({ lines: [], error: null })
  })

  it('come before the place is named at which the stream was cut off', async () => {
    for (const bytes of [1, 100])
      expect(await readLines(cut('a\nb\nc', bytes))).toEqual({
        lines: ['a', 'b'],
        error: { line: 3, fault: 'cut_off' },
      })
  })

  it('come before the place is named of one that is too long, with or without an end', async () => {
    for (const bytes of [1, 100])
      for (const end of ['\n', ''])
        expect(await readLines(cut(`abcd\nabcde${end}`, bytes), 4)).toEqual({
          lines: ['abcd'],
          error: { line: 2, fault: 'too_long' },
        })
  })

  it('have at most four mebibytes', async () => {
    const longest = 'a'.repeat(4 * 1024 * 1024)
    const megabyte = 1024 * 1024
    expect((await readLines(cut(`${longest}\n`, megabyte))).error).toBeNull()
    expect((await readLines(cut(`${longest}a\n`, megabyte))).error).toEqual({ line: 1, fault: 'too_long' })
  })
})

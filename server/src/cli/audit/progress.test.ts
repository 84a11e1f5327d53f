import { afterEach, expect, it, vi } from 'vitest'
import { Progress } from './progress.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The output for a million lines that take `msPerLine` each. */
function written(msPerLine: number, totalBytes: number | null, isTTY: boolean): string[] {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  vi.spyOn(process, 'stderr', 'get').mockReturnValue({ isTTY, write: (text: string) => texts.push(text) } as never)
  const texts: string[] = []
  const progress = new Progress(totalBytes)
  for (let lines = 1; lines <= 102_400; lines += 1) {
    nowMs += msPerLine
    progress.at(lines, lines * 10)
  }
  progress.end()
  return texts
}

it('is silent about what takes a moment', () => {
  expect(written(0.01, 1_024_000, true)).toEqual([])
})

it('counts up on one line of a terminal, and ends it', () => {
  const texts = written(0.1, 1_024_000, true)
  expect(texts.length).toBeGreaterThan(10)
  expect(texts[0]).toBe('\r20480 lines, 20 %')
  expect(texts.at(-1)).toBe('\n')
})

it('writes a line now and then elsewhere, and without a share of what nobody knows', () => {
  expect(written(0.25, null, false)).toEqual(['8192 lines\n', '48640 lines\n', '89088 lines\n'])
})

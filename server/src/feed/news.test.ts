import type { AuditEntry } from '@countersign/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type News, NewsDesk } from './news.js'

const SECOND_MS = 1000

let sent: News[]
let hasArrived: boolean
let desk: NewsDesk
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  sent = []
  hasArrived = true
  desk = new NewsDesk({
    send: (news) => void sent.push(news),
    hasArrived: () => hasArrived,
    nowMs: () => performance.now(),
  })
})
afterEach(() => {
  desk.stop()
  vi.useRealTimers()
})

function entryAt(index: number, log = 'own', size = 0): AuditEntry {
  return { log, index, data: { text: 'x'.repeat(size) } } as unknown as AuditEntry
}

/** Where the entries of the news are, in order. */
const told = () =>
  sent.flatMap(({ runs }) =>
    runs.flatMap(({ log, from, documents }) =>
      documents.map((text, i) => {
        const entry: AuditEntry = JSON.parse(text)
        expect(entry).toMatchObject({ log, index: from + i })
        return entry.index
      }),
    ),
  )
const upTo = (end: number) => Array.from({ length: end }, (_, index) => index)

describe('the feed', () => {
  it('is woken at most ten times a second while one caller writes all the time, and is told every entry once', () => {
    for (let index = 0; index < 5000; index += 1) {
      desk.written([entryAt(index)])
      vi.advanceTimersByTime(2)
    }
    expect(sent.length).toBeGreaterThan(50)
    expect(sent.length).toBeLessThanOrEqual(100)
    vi.advanceTimersByTime(SECOND_MS)
    expect(told()).toEqual(upTo(5000))
  })

  it('is told soon after a pause, and not woken without a reason', () => {
    vi.advanceTimersByTime(SECOND_MS)
    desk.written([entryAt(0), entryAt(1)])
    vi.advanceTimersByTime(20)
    expect(told()).toEqual([0, 1])
    vi.advanceTimersByTime(60 * SECOND_MS)
    expect(sent).toHaveLength(1)
    desk.wake()
    vi.advanceTimersByTime(20)
    expect(sent[1]).toEqual({ runs: [], isEndKnown: true })
  })

  it('is told before it is asked, and only if there is something to tell', () => {
    desk.written([entryAt(0)])
    desk.flush()
    expect(told()).toEqual([0])
    desk.flush()
    expect(sent).toHaveLength(1)
    desk.written([])
    desk.flush()
    expect(sent[1]).toEqual({ runs: [], isEndKnown: false })
  })

  it('is told of each log apart, of a break in a log, and that a write failed after them', () => {
    desk.written([entryAt(3), entryAt(4), entryAt(6), entryAt(0, 'next')])
    desk.written([entryAt(1, 'next')])
    desk.written([])
    vi.advanceTimersByTime(SECOND_MS)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.runs.map(({ log, from, documents }) => [log, from, documents.length])).toEqual([
      ['own', 3, 2],
      ['own', 6, 1],
      ['next', 0, 2],
    ])
    expect(sent[0]?.isEndKnown).toBe(false)
    // The writer opened the log again, which says where it ends.
    desk.written([])
    desk.written([entryAt(2, 'next')])
    vi.advanceTimersByTime(SECOND_MS)
    expect(sent[1]?.isEndKnown).toBe(true)
  })

  it('gets one message at a time, and no more than it can take: then it is only told where the log ends', () => {
    desk.written([entryAt(0)])
    vi.advanceTimersByTime(SECOND_MS)
    hasArrived = false
    const written = 1 + 100
    for (let index = 1; index < written; index += 1) desk.written([entryAt(index, 'own', 100_000)])
    vi.advanceTimersByTime(SECOND_MS)
    expect(sent).toHaveLength(1)
    hasArrived = true
    vi.advanceTimersByTime(SECOND_MS)
    expect(sent).toHaveLength(2)
    const characters = sent[1]?.runs.flatMap(({ documents }) => documents).join('').length
    expect(characters).toBeLessThanOrEqual(2 * 1024 * 1024)
    const last = sent[1]?.runs.at(-1)
    expect((last?.from ?? 0) + (last?.documents.length ?? 0)).toBe(written)
  })

  it('gets no more than that by asking, either', () => {
    hasArrived = false
    for (let index = 0; index < 100; index += 1) {
      desk.written([entryAt(index, 'own', 100_000)])
      desk.flush()
    }
    const characters = sent.flatMap(({ runs }) => runs.flatMap(({ documents }) => documents)).join('').length
    expect(characters).toBeLessThanOrEqual(2 * 1024 * 1024)
    expect(sent.at(-1)).toEqual({ runs: [{ log: 'own', from: 100, documents: [] }], isEndKnown: true })
  })
})

import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LongPolls, type Poll } from './long-polls.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  vi.spyOn(timers, 'setTimeout').mockImplementation(
    (ms, value) => new Promise((resolve) => setTimeout(() => resolve(value as never), ms)),
  )
  syncBuiltinESMExports()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** Waits for one decision, in the name of one key. */
function watch(polls: LongPolls, changes: Partial<Poll> = {}) {
  const state = { isOver: false }
  const poll = { keyId: 'key_1', decisionId: 'dec_1', waitMs: 30_000, isWanted: () => true, ...changes }
  void polls.wait(poll).finally(() => {
    state.isOver = true
  })
  return state
}

describe('a long poll', () => {
  test('ends with the review, and looks once for all who wait for the same decision', async () => {
    let isAwaiting = true
    const look = vi.fn(async () => isAwaiting)
    const polls = new LongPolls(look)
    const waits = Array.from({ length: 400 }, () => watch(polls))
    await vi.advanceTimersByTimeAsync(1000)
    expect(waits.filter(({ isOver }) => isOver)).toHaveLength(0)
    expect(look).toHaveBeenCalledTimes(4)
    isAwaiting = false
    await vi.advanceTimersByTimeAsync(250)
    expect(waits.filter(({ isOver }) => isOver)).toHaveLength(400)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(look).toHaveBeenCalledTimes(5)
  })

  test('ends when its time is over, to the millisecond', async () => {
    const wait = watch(new LongPolls(async () => true), { waitMs: 1100 })
    await vi.advanceTimersByTimeAsync(1099)
    expect(wait.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(wait.isOver).toBe(true)
  })

  test('ends soon after its caller has gone, and then nothing is looked at any more', async () => {
    let isWanted = true
    const look = vi.fn(async () => true)
    const wait = watch(new LongPolls(look), { isWanted: () => isWanted })
    await vi.advanceTimersByTimeAsync(500)
    isWanted = false
    await vi.advanceTimersByTimeAsync(250)
    expect(wait.isOver).toBe(true)
    const looks = look.mock.calls.length
    await vi.advanceTimersByTimeAsync(5000)
    expect(look).toHaveBeenCalledTimes(looks)
  })

  test('of a key that has a thousand already is answered at once; one that ends makes room', async () => {
    const polls = new LongPolls(async () => true)
    for (let i = 0; i < 999; i += 1) watch(polls, { decisionId: `dec_${i % 10}` })
    const last = watch(polls, { waitMs: 500 })
    const refused = watch(polls)
    const other = watch(polls, { keyId: 'key_2' })
    await vi.advanceTimersByTimeAsync(0)
    expect([last.isOver, refused.isOver, other.isOver]).toEqual([false, true, false])
    await vi.advanceTimersByTimeAsync(500)
    const next = watch(polls)
    await vi.advanceTimersByTimeAsync(0)
    expect(next.isOver).toBe(false)
  })

  test('fails with the look', async () => {
    const polls = new LongPolls(() => Promise.reject(new Error('away')))
    const wait = expect(
      polls.wait({ keyId: 'k', decisionId: 'd', waitMs: 9999, isWanted: () => true }),
    ).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(250)
    await wait
  })
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { withDeadline } from './with-deadline.js'

const lateError = () => new Error('late')

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('work with a deadline', () => {
  test('gives its result or its error, and leaves no timer behind', async () => {
    expect(await withDeadline(Promise.resolve('done'), 1000, lateError)).toBe('done')
    await expect(withDeadline(Promise.reject(new Error('failed')), 1000, lateError)).rejects.toThrow('failed')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is given up at the deadline; what becomes of it later goes nowhere', async () => {
    let fail = (_: Error): void => {}
    const work = new Promise<never>((_, reject) => {
      fail = reject
    })
    const result = expect(withDeadline(work, 1000, lateError)).rejects.toThrow('late')
    await vi.advanceTimersByTimeAsync(999)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    await result
    fail(new Error('too late for anybody'))
    await vi.advanceTimersByTimeAsync(0)
  })
})

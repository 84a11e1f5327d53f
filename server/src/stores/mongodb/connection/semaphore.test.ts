import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import { Semaphore } from './semaphore.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Work that ends when it is told to. */
function held() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let isBegun = false
  const work = () => {
    isBegun = true
    return ended
  }
  return { work, end: () => end(), isBegun: () => isBegun }
}

describe('a semaphore', () => {
  test('runs this many tasks at a time, the others in order, also after one that fails', async () => {
    const semaphore = new Semaphore(2, 1000)
    const works = [held(), held(), held(), held()]
    const passed = works.map(({ work }) => semaphore.run(work))
    const begun = () => works.map(({ isBegun }) => isBegun())
    expect(begun()).toEqual([true, true, false, false])
    works[1]?.end()
    await passed[1]
    await vi.waitFor(() => expect(begun()).toEqual([true, true, true, false]))
    works[0]?.end()
    await vi.waitFor(() => expect(begun()).toEqual([true, true, true, true]))
    for (const { end } of works) end()
    await Promise.all(passed)
    await expect(semaphore.run(() => Promise.reject(new Error('work')))).rejects.toThrow('work')
    expect(await semaphore.run(async () => 7)).toBe(7)
  })

  test('refuses a task that waits too long, and never runs it', async () => {
    const semaphore = new Semaphore(1, 1000)
    const first = held()
    const passed = semaphore.run(first.work)
    const late = held()
    const refused = expect(semaphore.run(late.work)).rejects.toThrow(StoreUnavailableError)
    vi.advanceTimersByTime(1000)
    await refused
    first.end()
    await passed
    expect(await semaphore.run(async () => 1)).toBe(1)
    expect(late.isBegun()).toBe(false)
  })
})

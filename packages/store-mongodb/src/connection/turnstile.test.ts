import { StoreUnavailableError } from '@countersign/store-port/store'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Turnstile } from './turnstile.js'

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

describe('a turnstile', () => {
  test('lets so many work at a time, the others in their order, also behind one that fails', async () => {
    const turnstile = new Turnstile(2, 1000)
    const works = [held(), held(), held(), held()]
    const passed = works.map(({ work }) => turnstile.pass(work))
    const begun = () => works.map(({ isBegun }) => isBegun())
    expect(begun()).toEqual([true, true, false, false])
    works[1]?.end()
    await passed[1]
    await vi.waitFor(() => expect(begun()).toEqual([true, true, true, false]))
    works[0]?.end()
    await vi.waitFor(() => expect(begun()).toEqual([true, true, true, true]))
    for (const { end } of works) end()
    await Promise.all(passed)
    await expect(turnstile.pass(() => Promise.reject(new Error('work')))).rejects.toThrow('work')
    expect(await turnstile.pass(async () => 7)).toBe(7)
  })

  test('turns away who waits for long, and keeps no place for one', async () => {
    const turnstile = new Turnstile(1, 1000)
    const first = held()
    const passed = turnstile.pass(first.work)
    const late = held()
    const refused = expect(turnstile.pass(late.work)).rejects.toThrow(StoreUnavailableError)
    vi.advanceTimersByTime(1000)
    await refused
    first.end()
    await passed
    expect(await turnstile.pass(async () => 1)).toBe(1)
    expect(late.isBegun()).toBe(false)
  })
})

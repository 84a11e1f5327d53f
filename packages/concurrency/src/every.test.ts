import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { every } from './every.js'

const fail = (error: unknown) => expect.unreachable(String(error))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a task that is run again and again', () => {
  test('runs once each interval, and no more when it is stopped', async () => {
    const task = vi.fn(async () => {})
    const stop = every(1000, task, fail)
    await vi.advanceTimersByTimeAsync(999)
    expect(task).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(2001)
    expect(task).toHaveBeenCalledTimes(3)
    await stop()
    await vi.advanceTimersByTimeAsync(5000)
    expect(task).toHaveBeenCalledTimes(3)
  })

  test('runs for the first time when it is told to, unless it is stopped by then', async () => {
    const [task, stopped] = [vi.fn(async () => {}), vi.fn(async () => {})]
    const stop = every(10_000, task, fail, 50)
    await every(10_000, stopped, fail, 50)()
    await vi.advanceTimersByTimeAsync(50)
    expect(task).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(9950)
    expect(task).toHaveBeenCalledTimes(2)
    expect(stopped).not.toHaveBeenCalled()
    await stop()
  })

  test('never runs twice at once, tells a run that fails and runs again', async () => {
    let end = (_: Error) => {}
    const task = vi.fn(() => new Promise<void>((_, reject) => (end = reject)))
    const told = vi.fn()
    const stop = every(1000, task, told)
    await vi.advanceTimersByTimeAsync(3000)
    expect(task).toHaveBeenCalledTimes(1)
    end(new Error('first'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(told).toHaveBeenCalledWith(new Error('first'))
    expect(task).toHaveBeenCalledTimes(2)
    const stopping = stop()
    const isStopped = vi.fn()
    void stopping.then(isStopped)
    await vi.advanceTimersByTimeAsync(0)
    expect(isStopped).not.toHaveBeenCalled()
    end(new Error('second'))
    await stopping
  })
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { poll } from './poll.js'

const onError = (error: unknown) => expect.unreachable(String(error))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A task whose runs end when the test says so. */
function heldTask() {
  const ends: ((error?: Error) => void)[] = []
  const task = vi.fn(
    () => new Promise<void>((resolve, reject) => void ends.push((error) => (error ? reject(error) : resolve()))),
  )
  return { task, end: (error?: Error) => ends.shift()?.(error) }
}

describe('a poll loop', () => {
  test('runs its task once each interval until it is stopped', async () => {
    const task = vi.fn()
    const loop = poll(task, { everyMs: 1000, onError })
    await vi.advanceTimersByTimeAsync(999)
    expect(task).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(2001)
    expect(task).toHaveBeenCalledTimes(3)
    await loop.stop()
    await vi.advanceTimersByTimeAsync(5000)
    expect(task).toHaveBeenCalledTimes(3)
  })

  test('has its first run at a time of its own, unless it is stopped before', async () => {
    const [task, stopped] = [vi.fn(), vi.fn()]
    const loop = poll(task, { everyMs: 10_000, firstMs: 50, onError })
    await poll(stopped, { everyMs: 10_000, firstMs: 50, onError }).stop()
    await vi.advanceTimersByTimeAsync(50)
    expect(task).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(9950)
    expect(task).toHaveBeenCalledTimes(2)
    expect(stopped).not.toHaveBeenCalled()
    await loop.stop()
  })

  test('has one run at a time, reports a run that fails, and runs again', async () => {
    const { task, end } = heldTask()
    const reported = vi.fn()
    const loop = poll(task, { everyMs: 1000, onError: reported })
    await vi.advanceTimersByTimeAsync(3000)
    expect(task).toHaveBeenCalledTimes(1)
    end(new Error('first'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(reported).toHaveBeenCalledWith(new Error('first'))
    expect(task).toHaveBeenCalledTimes(2)
    end()
    await loop.stop()
  })

  test('reports what a task throws before its first await', async () => {
    const reported = vi.fn()
    const task = () => {
      throw new Error('thrown')
    }
    const loop = poll(task, { everyMs: 1000, onError: reported })
    await loop.runNow()
    expect(reported).toHaveBeenCalledWith(new Error('thrown'))
    await loop.stop()
  })

  test('stops when the runs in progress have ended', async () => {
    const { task, end } = heldTask()
    const reported = vi.fn()
    const loop = poll(task, { everyMs: 1000, onError: reported })
    await vi.advanceTimersByTimeAsync(1000)
    const isStopped = vi.fn()
    const stopping = loop.stop().then(isStopped)
    await vi.advanceTimersByTimeAsync(0)
    expect(isStopped).not.toHaveBeenCalled()
    end(new Error('last'))
    await stopping
    expect(reported).toHaveBeenCalledWith(new Error('last'))
  })

  test('has as many runs in progress as it may, those that are asked for included', async () => {
    const { task, end } = heldTask()
    const loop = poll(task, { everyMs: 1000, concurrency: 2, onError })
    const asked = loop.runNow()
    await vi.advanceTimersByTimeAsync(3000)
    expect(task).toHaveBeenCalledTimes(2)
    await loop.runNow()
    expect(task).toHaveBeenCalledTimes(2)
    end()
    await asked
    end()
    await loop.stop()
    await loop.runNow()
    expect(task).toHaveBeenCalledTimes(2)
  })
})

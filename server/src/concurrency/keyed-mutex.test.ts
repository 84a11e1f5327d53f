import { describe, expect, test } from 'vitest'
import { KeyedMutex } from './keyed-mutex.js'

class AwayError extends Error {}
class TooManyError extends Error {}

const newMutex = () =>
  new KeyedMutex({
    maxTasks: 3,
    tooManyError: () => new TooManyError(),
    failsWaiting: (error) => error instanceof AwayError,
  })

/** A task that ends when the test says so. */
function task<T>() {
  let end = (_: T): void => {}
  let fail = (_: Error): void => {}
  let runs = 0
  const ended = new Promise<T>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const run = (): Promise<T> => {
    runs += 1
    return ended
  }
  return { run, end: (value: T) => end(value), fail: (error: Error) => fail(error), runs: () => runs }
}

const untilQuiet = () => new Promise((resolve) => setImmediate(resolve))

describe('tasks of one key', () => {
  test('wait for the task before, even if it fails by a rule of its own', async () => {
    const mutex = newMutex()
    const [first, second] = [task<string>(), task<string>()]
    const one = mutex.run('dec_1', first.run)
    const two = mutex.run('dec_1', second.run)
    await untilQuiet()
    expect([first.runs(), second.runs()]).toEqual([1, 0])
    first.fail(new Error('not allowed'))
    await expect(one).rejects.toThrow('not allowed')
    await untilQuiet()
    expect(second.runs()).toBe(1)
    second.end('done')
    await expect(two).resolves.toBe('done')
  })

  test('run without a limit, and after any error, when the mutex has no options', async () => {
    const mutex = new KeyedMutex()
    const failed = mutex.run('dec_1', () => Promise.reject(new AwayError('of the first')))
    const later = [1, 2, 3, 4].map((number) => mutex.run('dec_1', async () => number))
    await expect(failed).rejects.toThrow('of the first')
    expect(await Promise.all(later)).toEqual([1, 2, 3, 4])
  })

  test('do not wait for a task of another key', async () => {
    const mutex = newMutex()
    const other = task<string>()
    void mutex.run('dec_1', task().run)
    void mutex.run('dec_2', other.run)
    await untilQuiet()
    expect(other.runs()).toBe(1)
  })

  test('fail with the task before where its error says so; a later task runs again', async () => {
    const mutex = newMutex()
    const [first, second, third] = [task<string>(), task<string>(), task<string>()]
    const one = mutex.run('dec_1', first.run)
    const two = mutex.run('dec_1', second.run)
    first.fail(new AwayError('too slow'))
    await expect(one).rejects.toThrow('too slow')
    await expect(two).rejects.toThrow('too slow')
    expect(second.runs()).toBe(0)
    third.end('done')
    await expect(mutex.run('dec_1', third.run)).resolves.toBe('done')
  })

  test('are rejected when too many are there, until one has ended', async () => {
    const mutex = newMutex()
    const first = task<string>()
    const tasks = [mutex.run('dec_1', first.run), mutex.run('dec_1', first.run), mutex.run('dec_1', first.run)]
    await expect(mutex.run('dec_1', async () => 'late')).rejects.toBeInstanceOf(TooManyError)
    await expect(mutex.run('dec_2', async () => 'other')).resolves.toBe('other')
    first.end('done')
    await Promise.all(tasks)
    await expect(mutex.run('dec_1', async () => 'again')).resolves.toBe('again')
  })
})

test('calls that join share the run that has not begun, and never one that has', async () => {
  const mutex = newMutex()
  const [first, second] = [task<string>(), task<string>()]
  const one = mutex.join('sweep', first.run)
  await untilQuiet()
  const joined = [mutex.join('sweep', second.run), mutex.join('sweep', second.run), mutex.join('sweep', second.run)]
  first.end('first')
  second.end('second')
  await expect(one).resolves.toBe('first')
  await expect(Promise.all(joined)).resolves.toEqual(['second', 'second', 'second'])
  expect(second.runs()).toBe(1)
})

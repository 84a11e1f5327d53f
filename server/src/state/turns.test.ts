import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../ports/store.js'
import { Turns } from './turns.js'

/** Work that ends when the test says so. */
function work<T>() {
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

describe('work on one thing', () => {
  test('waits for the work on it before, also when that fails by a rule of its own', async () => {
    const turns = new Turns()
    const [first, second] = [work<string>(), work<string>()]
    const one = turns.run('dec_1', first.run)
    const two = turns.run('dec_1', second.run)
    await untilQuiet()
    expect([first.runs(), second.runs()]).toEqual([1, 0])
    first.fail(new Error('not allowed'))
    await expect(one).rejects.toThrow('not allowed')
    await untilQuiet()
    expect(second.runs()).toBe(1)
    second.end('done')
    await expect(two).resolves.toBe('done')
  })

  test('does not wait for work on another', async () => {
    const turns = new Turns()
    const other = work<string>()
    void turns.run('dec_1', work().run)
    void turns.run('dec_2', other.run)
    await untilQuiet()
    expect(other.runs()).toBe(1)
  })

  test('fails with the store for all who wait, and is tried again by who comes later', async () => {
    const turns = new Turns()
    const [first, second, third] = [work<string>(), work<string>(), work<string>()]
    const one = turns.run('dec_1', first.run)
    const two = turns.run('dec_1', second.run)
    first.fail(new StoreUnavailableError('too slow'))
    await expect(one).rejects.toThrow('too slow')
    await expect(two).rejects.toThrow('too slow')
    expect(second.runs()).toBe(0)
    third.end('done')
    await expect(turns.run('dec_1', third.run)).resolves.toBe('done')
  })
})

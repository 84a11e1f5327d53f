import { StoreUnavailableError } from '@countersign/store-port/store'
import { describe, expect, test } from 'vitest'
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

test('more than a thousand who wait for one thing are refused, until one has had its turn', async () => {
  const turns = new Turns()
  const first = work<string>()
  const waiting = [
    turns.run('dec_1', first.run),
    ...Array.from({ length: 999 }, () => turns.run('dec_1', async () => 'done')),
  ]
  await expect(turns.run('dec_1', async () => 'late')).rejects.toBeInstanceOf(StoreUnavailableError)
  await expect(turns.run('dec_2', async () => 'other')).resolves.toBe('other')
  first.end('done')
  await Promise.all(waiting)
  await expect(turns.run('dec_1', async () => 'again')).resolves.toBe('again')
})

test('who joins shares the run that has not begun, and never one that has', async () => {
  const turns = new Turns()
  const [first, second] = [work<string>(), work<string>()]
  const one = turns.join('sweep', first.run)
  await untilQuiet()
  const joined = [turns.join('sweep', second.run), turns.join('sweep', second.run), turns.join('sweep', second.run)]
  first.end('first')
  second.end('second')
  await expect(one).resolves.toBe('first')
  await expect(Promise.all(joined)).resolves.toEqual(['second', 'second', 'second'])
  expect(second.runs()).toBe(1)
})

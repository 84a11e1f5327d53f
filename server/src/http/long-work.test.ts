import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { LongWork, type Pause, type Place } from './long-work.js'

let work: LongWork
let nowMs: number
/** What was done in each turn of the event loop. */
let turns: string[][]
beforeEach(() => {
  nowMs = 0
  work = new LongWork({ nowMs: () => nowMs })
  turns = []
})

/** Lets the loop turn until everything is done, and notes what each turn did. */
async function untilDone(all: Promise<unknown>): Promise<void> {
  let isDone = false
  void all.finally(() => {
    isDone = true
  })
  while (!isDone) {
    turns.push([])
    await nextTurn()
  }
  await all
}
const note = (what: string) => turns.at(-1)?.push(what)

const run = <T>(keyId: string, task: (place: Place) => Promise<T>) =>
  work.run({ keyId, isWanted: () => true, waitMs: null }, task)

const pieces =
  (name: string, count: number) =>
  async ({ pause }: { readonly pause: Pause }) => {
    for (let i = 0; i < count; i++) {
      await pause()
      note(name)
      // Longer than a piece of work may take.
      nowMs += 2
    }
  }

test('one piece is done in each turn of the event loop, however many have work', async () => {
  await untilDone(Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => run(name, pieces(name, 3)))))
  expect(turns.every((done) => done.length <= 1)).toBe(true)
  const order = turns.flat()
  expect(order).toHaveLength(15)
  // Those that are in progress take turns.
  expect(new Set(order.slice(0, 4))).toEqual(new Set(['a', 'b', 'c', 'd']))
})

test('small pieces share a turn', async () => {
  await untilDone(
    run('a', async ({ pause }) => {
      for (let i = 0; i < 20; i++) {
        await pause()
        note('a')
        nowMs += 0.125
      }
    }),
  )
  expect(turns.filter((done) => done.length > 0).map((done) => done.length)).toEqual([8, 8, 4])
})

test('keys take turns, however much one of them has', async () => {
  const order: string[] = []
  const once = (key: string) =>
    run(key, async () => {
      order.push(key)
    })
  await Promise.all([...Array(20).fill('much'), 'little', 'less'].map(once))
  expect(order.indexOf('little')).toBeLessThan(7)
  expect(order.indexOf('less')).toBeLessThan(8)
})

test('a key with too much that waits is refused, and no other; what fails gives its place up', async () => {
  let letGo = (): void => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const all = Array.from({ length: 104 }, () => run('a', () => held))
  await expect(run('a', async () => {})).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'Retry-After': '1' },
  })
  const other = run('b', async () => Promise.reject(new Error('it failed')))
  letGo()
  await expect(other).rejects.toThrow('it failed')
  await Promise.all(all)
  expect(await run('a', async () => 'done')).toBe('done')
})

test('turns of the event loop alternate between keys, however many tasks one of them has in progress', async () => {
  await untilDone(Promise.all([...Array(4).fill('much'), 'little'].map((name) => run(name, pieces(name, 8)))))
  const order = turns.flat()
  expect(order.slice(0, order.lastIndexOf('little')).filter((name) => name === 'much').length).toBeLessThan(12)
})

test('work that nobody wants any more ends at its next pause', async () => {
  let isWanted = true
  const endless = work.run({ keyId: 'a', isWanted: () => isWanted, waitMs: null }, async ({ pause }) => {
    for (;;) {
      await pause()
      nowMs += 2
    }
  })
  await nextTurn()
  isWanted = false
  await expect(endless).rejects.toThrow('disconnected')
  expect(work.places.holders.size).toBe(0)
})

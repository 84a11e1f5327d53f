import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { LongWork, type Pause } from './long-work.js'

let work: LongWork
let nowMs: number
/** What was done in each turn of the event loop. */
let turns: string[][]
beforeEach(() => {
  nowMs = 0
  work = new LongWork(() => nowMs)
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

const pieces = (name: string, count: number) => async (pause: Pause) => {
  for (let i = 0; i < count; i++) {
    await pause()
    note(name)
    // Longer than a piece of work may take.
    nowMs += 2
  }
}

test('one piece is done in each turn of the event loop, however many have work', async () => {
  await untilDone(Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => work.run(name, pieces(name, 3)))))
  expect(turns.every((done) => done.length <= 1)).toBe(true)
  const order = turns.flat()
  expect(order).toHaveLength(15)
  // Those that are in progress take turns.
  expect(new Set(order.slice(0, 4))).toEqual(new Set(['a', 'b', 'c', 'd']))
})

test('small pieces share a turn', async () => {
  await untilDone(
    work.run('a', async (pause) => {
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
    work.run(key, async () => {
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
  const all = Array.from({ length: 104 }, () => work.run('a', () => held))
  await expect(work.run('a', async () => {})).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'Retry-After': '1' },
  })
  const other = work.run('b', async () => Promise.reject(new Error('it failed')))
  letGo()
  await expect(other).rejects.toThrow('it failed')
  await Promise.all(all)
  expect(await work.run('a', async () => 'done')).toBe('done')
})

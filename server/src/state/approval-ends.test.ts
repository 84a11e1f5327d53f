import { expect, test } from 'vitest'
import { ApprovalEnds } from './approval-ends.js'

const at = (minute: number): string => `2026-11-21T10:${String(minute).padStart(2, '0')}:00.000Z`

test('the first end counts, from its very moment on', () => {
  const ends = new ApprovalEnds(null)
  expect(ends.isDue(at(59))).toBe(false)
  ends.note(at(20))
  ends.note(at(10))
  ends.note(at(30))
  expect([ends.isDue(at(9)), ends.isDue(at(10)), ends.isDue(at(11))]).toEqual([false, true, true])
})

test('what is noted while the store is read is not lost', async () => {
  const ends = new ApprovalEnds(at(5))
  await ends.refresh(async () => {
    ends.note(at(7))
    return at(9)
  })
  expect([ends.isDue(at(6)), ends.isDue(at(7))]).toEqual([false, true])
})

test('an end that is due stays due while the store is read', async () => {
  const ends = new ApprovalEnds(at(5))
  const dueMeanwhile: boolean[] = []
  await ends.refresh(async () => {
    dueMeanwhile.push(ends.isDue(at(5)))
    return null
  })
  expect([...dueMeanwhile, ends.isDue(at(5))]).toEqual([true, false])
})

test('of two who read at once the one that began earlier hides nothing that was noted', async () => {
  const ends = new ApprovalEnds(null)
  let answer = (_: string | null): void => {}
  const early = ends.refresh(
    () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  )
  ends.note(at(7))
  await ends.refresh(() => Promise.resolve(at(7)))
  answer(null)
  await early
  expect(ends.isDue(at(7))).toBe(true)
})

test('a store that cannot be read leaves the end due', async () => {
  const ends = new ApprovalEnds(at(5))
  await expect(ends.refresh(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(ends.isDue(at(5))).toBe(true)
})

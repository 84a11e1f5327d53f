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

test('a store that cannot be read leaves the end due', async () => {
  const ends = new ApprovalEnds(at(5))
  await expect(ends.refresh(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(ends.isDue(at(5))).toBe(true)
})

import type { DecisionDetail } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { neighbourOf, queueOf } from './queue'

const review = (id: string, minute: number, request_hash: string | null = id) =>
  ({ id, request_hash, review: { expires_at: `2026-11-22T10:${minute}:00.000Z` } }) as unknown as DecisionDetail

const shown = (waiting: DecisionDetail[], held: DecisionDetail[] = []) =>
  queueOf(waiting, held).map(({ reviews }) =>
    reviews.map(({ decision, isWaiting }) => `${decision.id}${isWaiting ? '' : ' gone'}`),
  )

describe('the queue of reviews', () => {
  it('has the one with the least time first', () => {
    expect(shown([review('c', 30), review('a', 10), review('b', 20)])).toEqual([['a'], ['b'], ['c']])
  })

  it('puts equal ones together, where the first of them stands', () => {
    const all = [review('a', 10, 'one'), review('b', 20, 'other'), review('c', 30, 'one')]
    expect(shown(all)).toEqual([['a', 'c'], ['b']])
  })

  it('puts none together whose requests were erased', () => {
    expect(shown([review('a', 10, null), review('b', 20, null)])).toEqual([['a'], ['b']])
  })

  it('keeps one that is held in its place', () => {
    expect(shown([review('a', 10), review('c', 30)], [review('b', 20), review('c', 30)])).toEqual([
      ['a'],
      ['b gone'],
      ['c'],
    ])
  })
})

describe('after an answer', () => {
  it('the next one follows, or the one before the last', () => {
    expect(neighbourOf(['a', 'b', 'c'], 'b')).toBe('c')
    expect(neighbourOf(['a', 'b', 'c'], 'c')).toBe('b')
    expect(neighbourOf(['a'], 'a')).toBeNull()
  })
})

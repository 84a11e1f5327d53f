import { expect, it } from 'vitest'
import { LeftReviews } from './left-reviews.js'

const never = {
  list(): never {
    throw new Error('nothing is listed')
  },
}
const review = (id: string) => ({ id, holder: 'job-1', endsAtMs: 1_000 })

it('keeps the first review of a question, and forgets the oldest question alone, and only for a new one', () => {
  const reviews = new LeftReviews(never)
  for (let at = 0; at < 1_000; at += 1) reviews.leave(`question ${at}`, review(`dec_${at}`))
  reviews.leave('question 7', review('dec_later'))
  expect([reviews.of('question 0', 0)?.id, reviews.of('question 7', 0)?.id]).toEqual(['dec_0', 'dec_7'])
  reviews.leave('one more', review('dec_more'))
  expect(reviews.of('question 0', 0)).toBeUndefined()
  expect([reviews.of('question 1', 0)?.id, reviews.of('one more', 0)?.id]).toEqual(['dec_1', 'dec_more'])
})

it('forgets a review that is over', () => {
  const reviews = new LeftReviews(never)
  reviews.leave('a question', review('dec_1'))
  expect(reviews.of('a question', 1_000)).toBeUndefined()
  expect(reviews.isEmpty).toBe(true)
})

import type { Review } from '@countersign/contract'
import { expect, it } from 'vitest'
import { endingOf } from './ending.js'

const review = (status: Review['status'], decided_at: string | null) => ({ review: { status, decided_at } as Review })
const AT = '2026-11-21T10:00:00.000Z'

it('says whether an expired decision could have run', () => {
  for (const ran of [{ review: null }, review('approved', AT)])
    expect(endingOf(ran)).toBe('Nobody has told whether the action happened.')
  expect(endingOf(review('expired', null))).toMatch(/^Nobody had answered it .* could not run\.$/)
  expect(endingOf(review('expired', AT))).toMatch(/^It was approved, and not claimed .* could not run\.$/)
})

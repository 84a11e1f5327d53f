import type { Review } from '@countersign/contract'
import { expect, it } from 'vitest'
import { endingOf } from './ending.js'

const review = (status: Review['status'], decided_at: string | null) => ({ review: { status, decided_at } as Review })
const AT = '2026-11-21T10:00:00.000Z'

it('says whether an expired decision could have run', () => {
  for (const ran of [{ review: null }, review('approved', AT)])
    expect(endingOf(ran)).toBe('No outcome was reported for the action.')
  expect(endingOf(review('expired', null))).toMatch(/^It was not reviewed in time, .* could not run\.$/)
  expect(endingOf(review('expired', AT))).toMatch(/^It was approved but not claimed .* could not run\.$/)
})
